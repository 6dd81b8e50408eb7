"""Brokers that tests run against: Apache Kafka and ours, as processes; see broker_process.py."""
