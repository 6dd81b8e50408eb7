"""StopReplica (API key 5), as in Kafka 3.9, in its newest version."""
