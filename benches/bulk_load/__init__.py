"""A bulk load beside the same records through a producer: ``make bulk-load-bench``."""
