"""LeaderAndIsr (API key 4), as in Kafka 3.9, in its newest version."""
