"""Contracts and composition engine of dsh-mnemon: Sources, Strategies, Views."""
