"""``manager``: leases and the coordinators' appends."""
