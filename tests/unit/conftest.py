"""Puts the test double in the place of the compiled data plane, before anything imports it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import fake_engine

sys.modules["kafkastore._core"] = fake_engine
