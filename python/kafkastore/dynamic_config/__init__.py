"""Configuration that changes while brokers run: ``changes`` (written once, taken over by every broker; the nodes are in
``config_nodes``), ``broker_configs``, ``named_configs`` (of groups and of metric subscriptions), ``kept_configs`` (of
topics, kept beside their logs)."""
