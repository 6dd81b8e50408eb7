"""Metrics in Prometheus' text format: ``families`` turns a snapshot into metric families, ``page`` serves the page."""
