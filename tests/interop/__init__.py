"""Directories written by one broker and opened by the other."""
