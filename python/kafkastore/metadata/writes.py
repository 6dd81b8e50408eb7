"""Single writes and paths as the contract has them, out of ``multi`` and the reads: the same in every store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.metadata.batches import LOOKED_AT
from kafkastore.metadata.store import ANY_VERSION, Create, Delete, NodeExistsError, SetData, ancestors

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kafkastore.metadata.store import MetadataStore, Operation


class WritesByMulti:
    """The base class of the stores. It has no state, and never sends anything by itself."""

    async def create(
        self: MetadataStore, path: str, data: bytes = b"", *, is_ephemeral: bool = False, is_sequential: bool = False
    ) -> str:
        results = await self.multi([Create(path, data, is_ephemeral, is_sequential)])
        return str(results[0])

    async def set(self: MetadataStore, path: str, data: bytes, version: int = ANY_VERSION) -> int:
        results = await self.multi([SetData(path, data, version)])
        assert isinstance(results[0], int)
        return results[0]

    async def delete(self: MetadataStore, path: str, version: int = ANY_VERSION) -> None:
        await self.multi([Delete(path, version)])

    async def ensure_path(self: MetadataStore, path: str) -> None:
        missing = [Create(one) for one in ancestors(path) if await self.exists(one) is None]
        try:
            await self.multi(missing)
        except NodeExistsError:  # another process was faster with one of them
            await self.ensure_path(path)

    async def delete_tree(
        self: MetadataStore, path: str, pause: Callable[[], Awaitable[None]] | None = None
    ) -> list[Operation]:
        if await self.exists(path) is None:
            return []
        by_depth: dict[int, list[Operation]] = {}
        for number, (below, _, _) in enumerate(await self.get_tree(path)):
            if pause is not None and number % LOOKED_AT == 0:
                await pause()
            by_depth.setdefault(below.count("/"), []).append(Delete(below))
        deepest_first = [operation for depth in sorted(by_depth, reverse=True) for operation in by_depth[depth]]
        return [*deepest_first, Delete(path)]
