"""Writes more nodes than one ``multi`` takes, in several.

It knows the store's contract only. It never makes the whole atomic: what a crash or an error leaves is a prefix of the
operations, in order, cut between two batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.metadata.store import MULTI_LIMIT_BYTES, Create, MultiTooLargeError, SetData

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from kafkastore.metadata.store import Check, MetadataStore, Operation

OPERATION_BYTES = 192
"""The bytes that an operation takes at most beside its path and data: headers, ACLs, a chroot of 64 bytes."""


LOOKED_AT: Final = 256
"""Operations between two pauses."""


async def write_many(
    store: MetadataStore,
    operations: Iterable[Operation],
    check: Sequence[Check] = (),
    pause: Callable[[], Awaitable[None]] | None = None,
) -> list[str | int | None]:
    """Writes ``operations`` in order, in as many multis as their size asks for, each with ``check`` in front: a check
    that fails ends the writing (BadVersionError, NoNodeError). Returns one result for each operation, as ``multi``
    does.

    It is not atomic as a whole. When it raises, an unknown number of leading batches has been written; the caller reads
    what there is before it goes on, so order the operations so that every prefix makes sense. ``pause`` is awaited
    between a few operations that are put into a batch."""
    results: list[str | int | None] = []
    batch: list[Operation] = []
    size = reserved_bytes = sum(map(size_of, check))
    for number, operation in enumerate(operations):
        if pause is not None and number % LOOKED_AT == 0:
            await pause()
        more = size_of(operation)
        if batch and size + more > store.batch_bytes:  # a larger operation goes alone
            results += (await store.multi([*check, *batch]))[len(check) :]
            batch, size = [], reserved_bytes
        batch.append(operation)
        size += more
    if batch:
        results += (await store.multi([*check, *batch]))[len(check) :]
    return results


def size_of(operation: Operation) -> int:
    """The bytes of an operation in a request, rounded up."""
    data = operation.data if isinstance(operation, Create | SetData) else b""
    path = operation.path
    return OPERATION_BYTES + (len(path) if path.isascii() else len(path.encode())) + len(data)


def check_size(operations: Sequence[Operation]) -> None:
    """Raises MultiTooLargeError for operations over which an ensemble would drop the connection."""
    size = sum(
        len(one.path.encode()) + (len(one.data) if isinstance(one, Create | SetData) else 0) for one in operations
    )
    if size + 64 * len(operations) > MULTI_LIMIT_BYTES:
        raise MultiTooLargeError(
            operations[0].path,
            f"{len(operations)} operations of {size} bytes are more than the {MULTI_LIMIT_BYTES} bytes of one request; "
            "write them in batches",
        )
