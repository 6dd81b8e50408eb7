"""kio's readers and writers, for the entry of every request. ``interbroker/codec.py`` says what their import costs."""

from kafkastore.interbroker.codec import SerialError, entity_reader, entity_writer

__all__ = ["SerialError", "entity_reader", "entity_writer"]
