"""Injects faults into real processes, disks and networks, and checks every record: ``python -m cluster.faults``."""
