"""What a broker says to systemd, which waits for it (``Type=notify``): that it serves, and that it stops. To nobody
where no supervisor listens.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import Final

VARIABLE: Final = "NOTIFY_SOCKET"


def tell_ready(status: str) -> None:
    """The broker serves; ``status`` is what ``systemctl status`` shows."""
    _tell(f"READY=1\nSTATUS={status}")


def tell_stopping() -> None:
    """The broker stops; what listens waits for its end."""
    _tell("STOPPING=1")


def _tell(text: str) -> None:
    address = os.environ.get(VARIABLE)
    if not address:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
        sending.connect("\0" + address[1:] if address.startswith("@") else address)
        sending.send(text.encode())
