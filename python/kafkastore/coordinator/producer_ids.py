"""Claims producer ids: numbers that no other producer of the cluster ever gets.

The data plane gives the ids out, and says when few are left. A request that finds no id waits here for the next block.

A broker claims blocks of 1,000 ids. The last block that any broker claimed is kept in the metadata store at
``/latest_producer_id_block``, in the form in which Kafka keeps it in ZooKeeper::

    {"version":1,"broker":<node id>,"block_start":"<first id>","block_end":"<last id>"}

Invariants: a block is durable in the store before its first id is given out, so that a crash loses ids but never gives
an id twice; a claim is a compare-and-set on the node's version, so that two brokers never hold the same block. One
claim is made at a time, and all requests that wait for it share its result, a failure too: while the store is
unavailable they all fail with the first claim. The failure of a claim ahead of need is not reported: the request that
finds no id claims again. Runs on the control plane's loop only.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from kafkastore.errors import CoordinatorLoadInProgressError, KafkastoreError
from kafkastore.metadata.node_content import InvalidNodeError, decimal, json_object, report
from kafkastore.metadata.store import BadVersionError, NodeExistsError, NoNodeError, StoreError

if TYPE_CHECKING:
    from kafkastore.metadata.store import MetadataStore

PATH: Final = "/latest_producer_id_block"
BLOCK_SIZE: Final = 1000
LARGEST_ID: Final = 2**63 - 1
MAX_CLAIM_ATTEMPTS: Final = 100
"""How often a claim is tried against other brokers' claims before the client gets a retriable error."""


class ProducerIdsExhaustedError(KafkastoreError):
    """All ids of 63 bits were given out."""

    text = "Have exhausted all producerIds as the next producerId block's end would exceed the long type limit."


class IdsOfBroker(Protocol):
    """The receiver of claimed blocks: the data plane (``Engine``)."""

    def take_producer_id(self) -> int | None: ...
    def add_producer_ids(self, first: int, last: int) -> None: ...


class ProducerIds:
    """The ids that this broker may give out."""

    def __init__(self, store: MetadataStore, node_id: int, ids: IdsOfBroker) -> None:
        self._store = store
        self._node_id = node_id
        self._ids = ids
        self._claiming: asyncio.Task[None] | None = None

    async def next_id(self) -> int:
        """Returns an id that was never given out. Raises CoordinatorLoadInProgressError, which clients retry, when no
        block could be claimed, and ProducerIdsExhaustedError."""
        while (producer_id := self._ids.take_producer_id()) is None:
            await asyncio.shield(self.claiming())  # a cancelled request must not cancel the claim of the others
        return producer_id

    async def ensure(self) -> None:
        """Waits for the claim under way, or for a new claim: the data plane has ids then. For requests that take their
        id there. Raises as :meth:`next_id`."""
        await asyncio.shield(self.claiming())

    def claim_ahead(self) -> None:
        """Begins to claim the next block, unless a claim is under way."""
        _ = self.claiming()

    def claiming(self) -> asyncio.Task[None]:
        """Returns the claim under way, and begins one if there is none. When the task is done, its block's ids can be
        taken."""
        if self._claiming is None:
            self._claiming = asyncio.get_running_loop().create_task(self._claim_one())
            self._claiming.add_done_callback(_retrieve)
        return self._claiming

    async def _claim_one(self) -> None:
        try:
            self._ids.add_producer_ids(*await self._claim())
        finally:
            self._claiming = None

    async def _claim(self) -> tuple[int, int]:
        """Returns (first id, last id) of a block that only this broker holds."""
        try:
            for _ in range(MAX_CLAIM_ATTEMPTS):
                block = await self._try_claim()
                if block is not None:
                    return block
        except StoreError as error:
            raise CoordinatorLoadInProgressError(f"No producer id block could be claimed: {error}") from error
        raise CoordinatorLoadInProgressError("No producer id block could be claimed: other brokers claim all the time.")

    async def _try_claim(self) -> tuple[int, int] | None:
        """Tries to claim the next block. Returns None when another broker was faster."""
        try:
            node = await self._store.get(PATH)
        except NoNodeError:
            try:
                await self._store.create(PATH, _encode(self._node_id, 0))
            except NodeExistsError:
                return None
            return 0, BLOCK_SIZE - 1
        try:
            start = _next_start(node.data)
        except InvalidNodeError as error:  # a guess might give an id twice
            report(PATH, "no producer id can be given until it is mended", error)
            raise CoordinatorLoadInProgressError(f"{PATH} is invalid: {error}") from None
        if start > LARGEST_ID - BLOCK_SIZE:
            raise ProducerIdsExhaustedError
        try:
            await self._store.set(PATH, _encode(self._node_id, start), node.version)
        except BadVersionError:
            return None
        return start, start + BLOCK_SIZE - 1


async def keep_above(store: MetadataStore, node_id: int, next_id: int) -> None:
    """No id below ``next_id`` is given from now on: other producers had them, as the logs of a directory say that was
    taken over. Two producers of one id would take each other's batches for repetitions."""
    start = (next_id - 1) // BLOCK_SIZE * BLOCK_SIZE
    while next_id > 0:
        try:
            node = await store.get(PATH)
            if _next_start(node.data) >= next_id:
                return
            await store.set(PATH, _encode(node_id, start), node.version)
        except NoNodeError:
            with suppress(NodeExistsError):
                await store.create(PATH, _encode(node_id, start))
        except BadVersionError:
            continue
        except InvalidNodeError as error:
            report(PATH, "no producer id can be given until it is mended", error)
            return


def _retrieve(claiming: asyncio.Task[None]) -> None:
    """Retrieves a claim's error, so that asyncio does not log it when no request waits for the claim."""
    if not claiming.cancelled():
        claiming.exception()


def _encode(node_id: int, start: int) -> bytes:
    end = start + BLOCK_SIZE - 1
    return f'{{"version":1,"broker":{node_id},"block_start":"{start}","block_end":"{end}"}}'.encode()


def _next_start(data: bytes) -> int:
    """The id after the block that the node describes; an empty node (Kafka makes one) describes none. Raises
    InvalidNodeError."""
    if not data:
        return 0
    return decimal(str(json_object(data).get("block_end")), "block_end", 0, LARGEST_ID) + 1
