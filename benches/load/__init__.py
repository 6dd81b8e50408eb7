"""`make bench`: our broker and Apache Kafka under the same load, in turn, on this machine; see scenarios.py."""
