"""One broker with more partitions than descriptors: its start and the requests of an operator about all of them (issue
13)."""
