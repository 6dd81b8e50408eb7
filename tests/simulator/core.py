"""Puts the data plane that can be driven step by step in the place of ``kafkastore._core``. To be imported before
anything that imports it; the wheel's has no steps."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[2] / "target" / "simulator" / "libkafkastore.so"
NAME = "kafkastore._core"


def load() -> None:
    """Raises SystemExit when it was not built (``make simulator-core``)."""
    if not LIBRARY.exists():
        sys.exit(f"{LIBRARY} is not there: make simulator-core builds it")
    loader = importlib.machinery.ExtensionFileLoader(NAME, str(LIBRARY))
    spec = importlib.util.spec_from_loader(NAME, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    loader.exec_module(module)


load()
