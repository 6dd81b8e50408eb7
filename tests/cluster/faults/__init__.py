"""Faults done to real processes, disks and networks, and what became of every record: ``python -m cluster.faults``."""
