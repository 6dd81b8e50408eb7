"""Measures compaction beside Apache Kafka: the cleaner on a long log, and the topic of committed offsets."""
