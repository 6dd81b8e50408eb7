"""Requests from broker to broker, and the bytes of requests and answers.

The map: ``dialer`` opens a connection (``tls_streams`` where it has TLS), ``client`` is the client of one broker,
``unreachable`` has its errors; ``controller_connections`` and ``to_controller`` pass requests on to the controller,
``envelope`` is the request that carries them. ``orders`` has a controller's orders as plain values, ``order_wire`` the
same as requests. ``codec`` imports kio, ``schema`` and ``older_versions`` add classes that kio lacks, ``shapes`` makes
the programs by which request bodies are checked, ``encoding`` writes responses with ``versioned_fields``;
``request_types`` is for mypy alone. ``command_config`` reads a command's client.properties.
"""
