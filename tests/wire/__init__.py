"""Malformed and unusual bytes on a socket."""
