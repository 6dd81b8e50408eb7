"""One broker with more partitions than descriptors: its start, and an operator's requests about all topics."""
