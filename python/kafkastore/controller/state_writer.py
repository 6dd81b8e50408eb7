"""The controller's writes: each one fenced by the controller epoch, each partition's state by its version (H19, H21).

Every ``multi`` begins with a check of ``/controller_epoch``: a controller that was replaced while it slept changes
nothing and learns that it was replaced here (DeposedError). When another client wrote a state meanwhile, the state is
read again and the rule applied to the new state. The context changes only after the store has taken a change. Thousands
of partitions go in few multis, none larger than MULTI_LIMIT_BYTES. A long write gives way to the loop after every few
partitions. Only events change the context that rules read, and events run one at a time, so the context stays the same
meanwhile, unless the term is over.
"""

from __future__ import annotations

from contextlib import aclosing
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from kafkastore.errors import NotControllerError
from kafkastore.metadata.batches import size_of, write_many
from kafkastore.metadata.leadership import decode_leadership, encode_leadership
from kafkastore.metadata.node_content import InvalidNodeError, report
from kafkastore.metadata.store import (
    ANY_VERSION,
    BadVersionError,
    Check,
    Create,
    Delete,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SetData,
)
from kafkastore.purgatory.turns import AT_ONCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Sequence

    from kafkastore.controller.context import Partition
    from kafkastore.metadata.leadership import Leadership
    from kafkastore.metadata.store import MetadataStore, Node, Operation
    from kafkastore.purgatory.turns import Turn

    Rule = Callable[[Partition], Leadership | None]
    Planned = tuple[Partition, Leadership, list[Operation]]

EPOCH_PATH = "/controller_epoch"


class DeposedError(NotControllerError):
    """Another broker became the controller."""


class StateWriter:
    """The writes of one controller in one of its terms. ``version`` is the version of ``/controller_epoch`` that has
    its ``epoch``. ``turn`` makes the slices of a long write."""

    def __init__(self, store: MetadataStore, epoch: int, version: int, turn: Callable[[], Turn]) -> None:
        self.store = store
        self._turn = turn
        self.epoch = epoch
        self.check = Check(EPOCH_PATH, version)

    async def write(self, operations: Iterable[Operation]) -> list[str | int | None]:
        """Writes in order; a failure may leave any prefix written. Raises DeposedError, or the store's error."""
        try:
            return await write_many(self.store, operations, [self.check], self._turn().give_way)
        except (BadVersionError, NoNodeError, NodeExistsError):
            await self.ensure_epoch()
            raise

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Deletes a node, with what somebody may have put below it. Raises as :meth:`write`."""
        try:
            await self.write([Delete(path, version)])
        except NotEmptyError:
            *below, _ = await self.store.delete_tree(path)
            await self.write([*below, Delete(path, version)])

    async def ensure_epoch(self) -> None:
        """Raises DeposedError when the term is over."""
        if await self.store.exists(EPOCH_PATH) != self.check.version:
            raise DeposedError

    async def apply(
        self, partitions: Iterable[Partition], rule: Rule, first: Sequence[Operation] = ()
    ) -> list[Partition]:
        """Writes the state that ``rule`` gives for each partition; None leaves the partition as it is. Returns the
        partitions that were written. ``first`` is written with the first batch, in front of it; when ``first`` cannot
        be written, nothing is, and the store's error is raised."""
        turn = self._turn()
        todo = list(partitions)
        written: list[Partition] = []
        while todo:
            async with aclosing(self._batches(turn, todo, rule, first)) as batches:
                async for batch in batches:
                    if not await self._write_batch(turn, batch, first):
                        break
                    first = ()
                    written += [partition for partition, _, _ in batch]
                else:
                    return written
            done = set(written)
            todo = [partition for partition in todo if partition not in done]
        if first:
            await self.write(first)
        return written

    async def _write_batch(self, turn: Turn, batch: list[Planned], first: Sequence[Operation]) -> bool:
        """Returns whether the batch was written. If not, another client had written a state, and the states were read
        again."""
        operations = [*first, *chain.from_iterable(map(itemgetter(2), batch))]
        try:
            results = iter((await self.store.multi([self.check, *operations]))[1 + len(first) :])
        except (BadVersionError, NoNodeError, NodeExistsError):
            await self.ensure_epoch()
            if first or not await self._read_again(turn, [partition for partition, _, _ in batch]):
                raise  # a second attempt would fail in the same way
            return False
        written: dict[tuple[int, int], Leadership] = {}  # partitions whose states are one object go on to share one
        for number, (partition, new, of_partition) in enumerate(batch):
            if number % AT_ONCE == 0:
                await turn.give_way()
            for _ in of_partition:
                result = next(results)
            partition.has_folder = partition.topic.has_folder = True
            version = result if isinstance(result, int) else 0
            state = written.get((id(new), version))
            if state is None:
                state = new._replace(partition_epoch=version, controller_epoch=self.epoch)
                written[id(new), version] = state
            partition.leadership = state
        return True

    async def _read_again(self, turn: Turn, partitions: Iterable[Partition]) -> bool:
        """Reads the partitions' states again. Returns whether any differs from the context."""
        is_changed = False
        async for partition in turn.each(partitions):
            known = partition.leadership, partition.has_folder, partition.topic.has_folder, partition.is_invalid
            partition.topic.has_folder = await self.store.exists(f"{partition.topic.path}/partitions") is not None
            partition.has_folder = await self.store.exists(partition.folder) is not None
            try:
                node = await self.store.get(f"{partition.folder}/state")
            except NoNodeError:
                partition.leadership = None
            else:
                await self._take(partition, node)
            now = partition.leadership, partition.has_folder, partition.topic.has_folder, partition.is_invalid
            is_changed |= known != now
        return is_changed

    async def _take(self, partition: Partition, node: Node) -> None:
        """Takes over a state that was read. No other broker writes states in this term, so the known state is written
        over an invalid node; when no state is known, the node is left alone."""
        path, known = f"{partition.folder}/state", partition.leadership
        try:
            partition.leadership = decode_leadership(node.data, node.version)
            partition.is_invalid = False
        except InvalidNodeError as error:
            report(path, "it is written again" if known else "it is left alone", error)
            partition.is_invalid = known is None
            if known is not None:
                written = SetData(path, encode_leadership(known, self.epoch), node.version)
                await self.store.multi([self.check, written])
                partition.leadership = known._replace(partition_epoch=node.version + 1, controller_epoch=self.epoch)

    async def _batches(
        self, turn: Turn, partitions: Iterable[Partition], rule: Rule, first: Sequence[Operation]
    ) -> AsyncGenerator[list[Planned]]:
        """The changes of ``rule`` in batches that fit a ``multi``; the operations of a partition stay in one batch.
        The first batch leaves room for ``first``."""
        batch: list[Planned] = []
        size = size_of(self.check) + sum(map(size_of, first))
        encoded: dict[tuple[object, ...], bytes] = {}  # partitions with equal states share the text
        made: set[str] = set()
        for number, partition in enumerate(partitions):
            if number % AT_ONCE == 0:
                await turn.give_way()
            new = rule(partition)
            if new is None:
                continue
            data = encoded.get(new[:5])
            if data is None:
                data = encoded[new[:5]] = encode_leadership(new, self.epoch)
            operations = _operations(partition, data, made)
            more = sum(map(size_of, operations))
            if batch and size + more > self.store.batch_bytes:
                yield batch
                batch, size = [], size_of(self.check)
            batch.append((partition, new, operations))
            size += more
        if batch:
            yield batch


def _operations(partition: Partition, data: bytes, made: set[str]) -> list[Operation]:
    """The operations that write the state of a partition; ``made`` are the topics whose folder an earlier operation
    creates."""
    folder = partition.folder
    state = f"{folder}/state"
    if partition.leadership is not None:
        return [SetData(state, data, partition.leadership.partition_epoch)]
    operations: list[Operation] = []
    topic = partition.topic
    if not topic.has_folder and topic.name not in made:
        made.add(topic.name)
        operations.append(Create(f"{topic.path}/partitions"))
    if not partition.has_folder:
        operations.append(Create(folder))
    operations.append(Create(state, data))
    return operations
