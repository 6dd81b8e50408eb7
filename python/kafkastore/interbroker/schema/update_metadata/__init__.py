"""UpdateMetadata (API key 6), as in Kafka 3.9, in its newest version."""
