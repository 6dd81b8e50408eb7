"""Brokers that are killed, refused, or run out of disk."""
