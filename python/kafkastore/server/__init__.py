"""The broker's life: ``broker`` (start, stop), ``assembly`` (its parts), ``kafka_apis`` and ``dispatch`` (the handler
of a request)."""
