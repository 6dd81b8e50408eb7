"""What security costs: ``load.py`` runs the load (the Go program beside it), ``__main__`` measures TLS beside Apache
Kafka, ``rights.py`` ACLs and quotas beside none."""
