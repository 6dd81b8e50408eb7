"""The changes that ``kafkastore cluster`` makes to a running cluster, through Kafka's protocol alone."""
