"""A broker in its cluster: ``member`` (joins, leaves, comes back), ``registration`` (who it is), ``presence`` (whether
the others are there), ``reconcile`` and ``metadata_marks`` (whether disk and store fit together, at start)."""
