"""Makes ``group_world`` and the fixtures' reader importable whatever pytest's import mode is."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
FIXTURES = HERE.parent.parent / "fixtures" / "offsets"
for folder in (HERE, FIXTURES):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
