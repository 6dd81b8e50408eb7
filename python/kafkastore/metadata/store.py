"""The metadata store's contract: a tree of versioned nodes with ephemerals, sequences, watches and atomic changes.

Paths and semantics are ZooKeeper's (spec R2.3), so that an embedded file and a ZooKeeper ensemble are interchangeable:
``sqlite.py`` implements it in one file on one host. Every implementation passes ``tests/unit/metadata/store_contract.py``.

- A node has data (bytes), a version that each ``set`` raises by one, and children; its parent must exist.
- An ephemeral node goes with the session that made it and has no children.
- A sequential node gets a 10-digit number that its parent never gives twice.
- A watch fires once, after the change is durable and in the order of changes, on the loop that set it.
- ``multi`` applies all of its operations or none; every single write is a ``multi`` of one.
- A write is durable when its coroutine returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

ANY_VERSION = -1

CREATED = "created"
DELETED = "deleted"
DATA_CHANGED = "data_changed"
CHILDREN_CHANGED = "children_changed"


class StoreError(KafkastoreError):
    """The base of the store's errors; ``path`` is the node concerned."""

    def __init__(self, path: str, message: str | None = None) -> None:
        super().__init__(message or f"{type(self).__name__}: {path}")
        self.path = path


class NoNodeError(StoreError):
    """The node, or the parent of one to create, does not exist."""


class NodeExistsError(StoreError):
    """A node to create exists already."""


class BadVersionError(StoreError):
    """The node's version is not the expected one: somebody else changed it."""


class NotEmptyError(StoreError):
    """A node to delete has children."""


class NoChildrenForEphemeralsError(StoreError):
    """A node cannot be created under an ephemeral one."""


class SessionExpiredError(StoreError):
    """The session is over; its ephemeral nodes are gone."""


class Node(NamedTuple):
    """What ``get`` returns."""

    data: bytes
    version: int
    ephemeral_owner: int  # session id, 0 for a persistent node


class Create(NamedTuple):
    """Creates a node; ``is_sequential`` appends the parent's next number to the path."""

    path: str
    data: bytes = b""
    is_ephemeral: bool = False
    is_sequential: bool = False


class SetData(NamedTuple):
    path: str
    data: bytes
    version: int = ANY_VERSION


class Delete(NamedTuple):
    path: str
    version: int = ANY_VERSION


class Check(NamedTuple):
    """Changes nothing; fails the ``multi`` unless the node has this version."""

    path: str
    version: int


Operation = Create | SetData | Delete | Check


class WatchEvent(NamedTuple):
    kind: str  # CREATED, DELETED, DATA_CHANGED, CHILDREN_CHANGED
    path: str


if TYPE_CHECKING:
    Watcher = Callable[[WatchEvent], None]


class MetadataStore(Protocol):
    """See the module."""

    @property
    def session_id(self) -> int:
        """The session that owns this process's ephemeral nodes; 0 before ``connect``."""

    async def connect(self) -> None:
        """Opens a session; nodes of sessions that are over go first."""

    async def close(self) -> None:
        """Ends the session: its ephemeral nodes are deleted."""

    async def get(self, path: str, watch: Watcher | None = None) -> Node:
        """Raises NoNodeError. ``watch`` hears of the next change of data or the deletion."""

    async def exists(self, path: str, watch: Watcher | None = None) -> int | None:
        """The version or None. ``watch`` hears of the next creation, change of data or deletion."""

    async def get_children(self, path: str, watch: Watcher | None = None) -> list[str]:
        """Names in order. Raises NoNodeError. ``watch`` hears of the next child created or deleted, or the deletion."""

    async def create(
        self, path: str, data: bytes = b"", *, is_ephemeral: bool = False, is_sequential: bool = False
    ) -> str:
        """The path created. Raises NodeExistsError, NoNodeError (parent), NoChildrenForEphemeralsError."""

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> int:
        """The new version. Raises NoNodeError, BadVersionError."""

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Raises NoNodeError, BadVersionError, NotEmptyError."""

    async def multi(self, operations: Sequence[Operation]) -> list[str | int | None]:
        """All or nothing; one result each: the path created, the new version, None. Raises what failed first."""

    async def ensure_path(self, path: str) -> None:
        """Creates a persistent node and its ancestors where they do not exist."""

    async def get_tree(self, path: str) -> Iterable[tuple[str, bytes, int]]:
        """(path, data, version) of every node below ``path``; empty when there is none."""

    async def delete_tree(self, path: str) -> list[Operation]:
        """The operations that delete ``path`` and all below it, for a ``multi``; empty when it does not exist."""

    async def poll(self) -> None:
        """Notices what other processes changed and fires the watches concerned."""


def parent_of(path: str) -> str:
    """``/a/b`` of ``/a/b/c``; ``/`` of ``/a``."""
    return path[: path.rindex("/")] or "/"


def split_path(path: str) -> tuple[str, str]:
    """Parent and name; of the root both are empty."""
    if path == "/":
        return "", ""
    parent, _, name = path.rpartition("/")
    return parent or "/", name


def join_path(parent: str, name: str) -> str:
    """What :func:`split_path` took apart."""
    return f"/{name}" if parent in ("/", "") else f"{parent}/{name}"


def validate_path(path: str) -> None:
    """Absolute, no empty parts, no trailing slash. A wrong path is our bug."""
    assert path == "/" or (path.startswith("/") and not path.endswith("/") and "//" not in path), path


def ancestors(path: str) -> Iterator[str]:
    """``/a``, ``/a/b``, ``/a/b/c`` for ``/a/b/c``."""
    position = 0
    while (position := path.find("/", position + 1)) != -1:
        yield path[:position]
    if path != "/":
        yield path
