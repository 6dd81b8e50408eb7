"""What stands behind the last whole batch of a segment file: nothing, zeros that were allocated ahead, or damage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from kafkastore._core import BatchHeaders, ScanError

_PIECE_BYTES: Final = 1 << 20
REPAIR: Final = (
    "another replica may have what follows, and kafkastore dump DIR TOPIC --ignore-corrupt-batches goes on in the next "
    "segment"
)


def fault_at_end(path: Path, headers: BatchHeaders, error: ScanError | None) -> str:
    """Why the file is not read to its end, as one sentence without what to do about it; empty when it is.

    ``headers`` has come to its end, or to the bytes of the ``error``. Zeros alone are no fault: a file is allocated
    ahead with ``preallocate=true``."""
    if not headers.rest_bytes or _is_zero(path, headers.rest_bytes):
        return ""
    if error is not None:
        return f"{error} ({headers.rest_bytes} bytes from there to the end)"
    return f"{path} ends with {headers.rest_bytes} bytes that are no whole batch"


def _is_zero(path: Path, rest_bytes: int) -> bool:
    """Whether the last bytes of the file, as long as it was when its batches were listed, are zeros. Bytes that are
    appended meanwhile begin a batch."""
    with path.open("rb") as file:
        file.seek(-min(rest_bytes, path.stat().st_size), 2)
        while piece := file.read(_PIECE_BYTES):
            if piece.strip(b"\0"):
                return False
    return True
