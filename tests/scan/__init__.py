"""``kafkastore.scan``, ``kafkastore.topics`` and ``kafkastore dump``, beside Kafka's own consumer and beside live
brokers."""
