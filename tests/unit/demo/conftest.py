"""Puts the root of the repository, where ``demo`` is, first on the path, because this folder is called demo too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
