"""The demo stands beside the package, at the root of the repository; first, since this folder has its name."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
