"""The controller's decisions: ``placement`` (which broker gets which replica)."""
