"""What a run produced, acknowledged and read, and whether that may have been: for the simulator and for real
processes."""
