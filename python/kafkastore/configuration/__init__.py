"""Configuration that changes while brokers run: ``changes`` (written once, taken over by every broker),
``dynamic_configs`` (of brokers), ``kept_configs`` (of topics, kept beside their logs)."""
