"""Foreign clients against a started broker."""
