"""Brokers for tests beside each other; `python -m test_brokers` runs it."""
