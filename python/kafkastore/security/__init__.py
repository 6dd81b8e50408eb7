"""Who is who: ``scram`` (how brokers prove the secret that they share)."""
