"""Sees to it that ``kafkastore`` is the development build, whose data plane can be driven step by step. To be imported
before anything that imports it; the wheel's has no steps."""

from __future__ import annotations

import sys

import kafkastore._core as core

try:
    import kafkastore._simulator  # noqa: F401
except ImportError:
    sys.exit(f"{core.__file__} has no steps: make test-builds builds the one that has")
