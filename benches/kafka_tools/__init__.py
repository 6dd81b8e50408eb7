"""Kafka's command line tools beside ours."""
