"""Requests from broker to broker: the client, and the four APIs that Kafka 4 dropped."""
