"""The broker's life and the way of a request: ``broker`` (start, stop), ``kafka_apis`` (dispatch), ``registry`` (which APIs),
``context`` (what handlers are given), ``topics`` and ``dynamic_configs`` (administration)."""
