"""asyncio without TLS.

The control plane opens no sockets: the data plane has them all. ``import asyncio`` would load ``ssl`` (OpenSSL, its
certificates' bookkeeping and 3 MB) for nothing, so this module hides ``ssl`` while it imports asyncio, which asyncio
allows for. A later ``import ssl`` succeeds.
"""

from __future__ import annotations

import sys

_is_hidden = "ssl" not in sys.modules and "asyncio" not in sys.modules
if _is_hidden:
    sys.modules["ssl"] = None  # type: ignore[assignment]  # what makes an import fail

import asyncio  # noqa: E402

if _is_hidden:
    del sys.modules["ssl"]

__all__ = ["asyncio"]
