"""``manager``: log directories and housekeeping. ``cleaner``: the threads that compact logs."""
