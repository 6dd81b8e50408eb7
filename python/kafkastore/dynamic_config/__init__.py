"""Configuration that changes while brokers run: ``changes`` (written once, taken over by every broker),
``broker_configs``, ``kept_configs`` (of topics, kept beside their logs)."""
