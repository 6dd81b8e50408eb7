"""Configuration that changes while brokers run: ``changes`` (written once, taken over by every broker),
``dynamic_configs`` (brokers'), ``kept_configs`` (topics', beside their logs)."""
