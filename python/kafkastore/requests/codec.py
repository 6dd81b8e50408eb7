"""kio's readers and writers, for the entry of every request. What importing them takes: ``interbroker/codec.py``."""

from kafkastore.interbroker.codec import SerialError, entity_reader, entity_writer

__all__ = ["SerialError", "entity_reader", "entity_writer"]
