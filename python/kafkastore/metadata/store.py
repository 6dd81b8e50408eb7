"""The metadata store's contract: a tree of versioned nodes with ephemerals, sequences, watches and atomic changes.

Paths and semantics are ZooKeeper's, so that an embedded file and a ZooKeeper ensemble are interchangeable:
``sqlite.py`` implements it in one file on one host, ``zookeeper.py`` in an ensemble. Every implementation passes
``tests/unit/metadata/store_contract.py``.

- A node has data (bytes), a version that each ``set`` raises by one, and children; its parent must exist.
- An ephemeral node goes with the session that made it and has no children.
- A sequential node gets a 10-digit number that its parent never gives twice.
- A watch fires once, by itself, after the change is durable and in the order of changes, on the loop that set it. It
  fires before any read that was called after it was set returns what changed. It outlives ``suspended``, not
  ``expired``.
- ``multi`` applies all of its operations or none; every single write is a ``multi`` of one. One of more than
  :data:`MULTI_LIMIT_BYTES` is taken by some stores only; ``batches.py`` writes thousands of nodes in several.
- A write is durable when its coroutine returns. One that raised StoreUnavailableError may have been applied: the caller
  must read again before it writes again, and write with the version it read.
- Every call ends within a time limit, with StoreUnavailableError at the latest. No call waits on the loop.

The states of a session, as :meth:`MetadataStore.listen` tells them::

    connect() -> connected <-> suspended -> expired -> connect() ...
                     `---------------------^

``suspended``: the store is away, calls wait for it up to their limit; the session, its ephemeral nodes and its watches
may live. ``expired``: the session is over, its ephemeral nodes are gone and its watches will not fire; every call
raises SessionExpiredError until :meth:`MetadataStore.connect` has opened a new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafkastore.errors import ErrorCode, KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

    from kafkastore.metadata.marks import StoreMark

ANY_VERSION = -1

CREATED = "created"
DELETED = "deleted"
DATA_CHANGED = "data_changed"
CHILDREN_CHANGED = "children_changed"

CONNECTED = "connected"
SUSPENDED = "suspended"
EXPIRED = "expired"

MULTI_LIMIT_BYTES = 1 << 20
"""ZooKeeper's jute.maxbuffer: no request, nor the answer to a read, is larger."""

BATCH_BYTES = MULTI_LIMIT_BYTES // 2
"""Half of that: sizes are estimates, and an answer repeats the paths."""

READ_AT_ONCE = 256
"""Nodes that :meth:`MetadataStore.get_many` reads between two pauses."""


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
    """The node's version is not the expected one: another writer changed the node."""


class NotEmptyError(StoreError):
    """A node to delete has children."""


class NoChildrenForEphemeralsError(StoreError):
    """A node cannot be created under an ephemeral one."""


class SessionExpiredError(StoreError):
    """The session is over; its ephemeral nodes are gone. The call did nothing. Raised after the listeners have heard
    ``expired``."""


class MultiTooLargeError(StoreError):
    """The operations are more than the store takes in one ``multi``; nothing was written."""


class StoreAccessDeniedError(StoreError):
    """The store's access control refuses the call."""


class StoreUnavailableError(StoreError):
    """The store could not be reached, locked or written to within the call's time limit. Whether a write was applied is
    not known: read again before writing again."""

    code = ErrorCode.REQUEST_TIMED_OUT  # what a client may repeat, and what it takes as "perhaps done"


class Node(NamedTuple):
    """A node as ``get`` returns it."""

    data: bytes
    version: int
    ephemeral_owner: int  # session id, 0 for a persistent node
    created: int
    """Rises with every node created in the whole store (ZooKeeper's czxid); nodes of one ``multi`` share it."""


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
    StateListener = Callable[[str], None]


class MetadataStore(Protocol):
    """See the module. Any call may raise StoreUnavailableError or SessionExpiredError besides what its docstring
    names."""

    batch_bytes: int
    """How much of a long write goes in one ``multi`` (``batches.py``)."""

    @property
    def session_id(self) -> int:
        """The session that owns this process's ephemeral nodes; 0 before ``connect`` and after ``expired``."""

    async def connect(self) -> None:
        """Opens a session, the first one or, after ``expired``, another; nodes of sessions that are over go first.
        Comes before any other call (a store in a file also takes reads, and writes of persistent nodes, before it)."""

    async def close(self) -> None:
        """Ends the session: its ephemeral nodes are deleted, or expire if the store is away. No listener and no watch
        is called any more."""

    def listen(self, callback: StateListener) -> None:
        """``callback(state)`` is called on the loop at every change of state: CONNECTED, SUSPENDED, EXPIRED. When it
        hears CONNECTED after SUSPENDED, the watches of what changed meanwhile have fired."""

    async def get(self, path: str, watch: Watcher | None = None) -> Node:
        """Raises NoNodeError. ``watch`` hears of the next change of data or the deletion."""

    async def get_many(self, paths: Sequence[str]) -> list[Node | None]:
        """The nodes in the order of the paths; None for one that does not exist. They are not of one moment."""

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
        """All or nothing; one result each: the path created, the new version, None. Raises what failed first, or
        MultiTooLargeError."""

    async def ensure_path(self, path: str) -> None:
        """Creates a persistent node and its ancestors where they do not exist."""

    async def get_tree(self, path: str) -> Iterable[tuple[str, bytes, int]]:
        """(path, data, version) of every node below ``path``; empty when there is none."""

    async def last_change(self, *paths: str) -> int | None:
        """A number that is another one after every change at or below ``paths``. None from a store that would have to
        read them all."""

    async def read_mark(self) -> StoreMark | None:
        """The mark as it stands; None of a store that never had one."""

    async def mark(self) -> StoreMark:
        """Which store this is and how far it has come, for the mark in a log directory; never below the writes that
        returned before the call. A store that does not count its changes raises its generation here when anything has
        changed since the last call."""

    async def stamp(self) -> StoreMark:
        """The mark of a change that was just written, at less cost: no later :meth:`mark` is below it."""

    async def has_lost(self, generation: int, path: str) -> bool:
        """Whether a change of ``path`` in this generation is lost, because the store was restored from an older
        copy."""

    async def find_damage(self) -> list[str]:
        """A sentence for each damaged thing in the store; empty for a store that checks its content itself."""

    async def delete_tree(self, path: str, pause: Callable[[], Awaitable[None]] | None = None) -> list[Operation]:
        """The operations that delete ``path`` and all below it, for a ``multi``; empty when it does not exist.
        ``pause`` is awaited between a few."""

    async def poll(self) -> None:
        """Notices the changes of other processes at once and fires their watches, which happens later without this
        call."""


def parent_of(path: str) -> str:
    """``/a/b`` of ``/a/b/c``; ``/`` of ``/a``."""
    return path[: path.rindex("/")] or "/"


def split_path(path: str) -> tuple[str, str]:
    """Parent and name; of the root both are empty."""
    if path == "/":
        return "", ""
    parent, _, name = path.rpartition("/")
    return parent or "/", name


def child_in(parent: str, path: str) -> str:
    """The name of a child of ``parent``; empty for any other path, as those are that somebody has put below a child
    that has none."""
    name = path[len(parent) + 1 :]
    return "" if "/" in name else name


def join_path(parent: str, name: str) -> str:
    """The path of which :func:`split_path` gives the parent and the name."""
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
