"""kio, imported without ``hypothesis``.

kio registers its types with ``hypothesis`` when that is installed, as in a project's test environment: 0.2 s of CPU and
15 MB for nothing here. kio is imported here once, while ``hypothesis`` cannot be found, which kio allows for; a later
import of ``hypothesis`` works. Import kio through here first, then its schema modules as they are needed.
"""

from __future__ import annotations

import sys

_is_hidden = "hypothesis" not in sys.modules
if _is_hidden:
    sys.modules["hypothesis"] = None  # type: ignore[assignment]  # what makes an import fail

from kio.serial import entity_reader, entity_writer  # noqa: E402
from kio.serial.errors import SerialError  # noqa: E402

if _is_hidden:
    del sys.modules["hypothesis"]

__all__ = ["SerialError", "entity_reader", "entity_writer"]
