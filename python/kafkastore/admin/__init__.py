"""What ``kafkastore cluster`` does to a running cluster, through the protocol alone."""
