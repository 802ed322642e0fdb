"""The words of texts and questions as `hybrid` recall compares them."""
