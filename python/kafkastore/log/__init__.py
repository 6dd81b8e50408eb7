"""``manager``: log directories and housekeeping."""
