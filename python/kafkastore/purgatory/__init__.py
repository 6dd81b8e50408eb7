"""Delayed operations of the control plane: what waits for an event or for a time."""
