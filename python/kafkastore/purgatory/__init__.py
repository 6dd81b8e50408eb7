"""Delayed operations of the control plane: ``timer`` (callbacks at a time), ``turns`` (long work in slices)."""
