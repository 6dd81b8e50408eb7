"""The ``kafkastore`` command: ``main`` finds the subcommand, one module per subcommand."""
