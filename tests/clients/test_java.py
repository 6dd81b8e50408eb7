"""Kafka's own Java clients: producer (plain, idempotent), consumer, groups of both assignors, admin."""
