"""Administration in bulk: how long it takes beside Apache Kafka, and what others feel of it."""
