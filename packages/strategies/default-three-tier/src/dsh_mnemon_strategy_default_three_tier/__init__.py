"""The Layered strategy of dsh-mnemon: hot memory, documents, long-term evidence."""
