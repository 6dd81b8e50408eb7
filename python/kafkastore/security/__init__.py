"""Authentication: ``scram`` (how brokers prove to each other the secret that they share)."""
