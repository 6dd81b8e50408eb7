"""ControlledShutdown (API key 7), as in Kafka 3.9, in its newest version."""
