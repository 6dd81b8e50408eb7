"""Transactions beside Apache Kafka: ``main.go`` is the producers, ``__main__`` starts brokers and makes the table."""
