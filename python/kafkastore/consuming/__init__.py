"""Reads topics as Kafka's consumers do: as a member of a consumer group, or of partitions that are named.

``assignors.py`` says who reads which partition, ``group_member.py`` keeps a member in its group, and ``readers.py``
joins both with ``_core.Consumer``, which fetches. Nothing here prints, and nothing parses flags.
"""
