"""The controller: its election, its context, and its decisions about brokers, topics and partitions."""
