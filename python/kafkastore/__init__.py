"""kafkastore: a Kafka-compatible broker. Rust data plane (``_core``), Python control plane (``server`` and below)."""
