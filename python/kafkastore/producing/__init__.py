"""Writes records as Kafka's producers do. ``writer.py`` sends with ``_core.Producer`` and says what became of every
record; ``line_reader.py`` makes records of lines. Nothing here prints, and nothing parses flags.
"""
