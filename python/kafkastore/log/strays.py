"""Logs that a start has set aside (``<topic>-<partition>.<id>-stray``): lists them, takes a topic back, deletes one.

Taking a topic back takes two steps. :func:`adopt` gives its directories their plain names and writes the topic, in each
log directory, into a file (``kafkastore-adopt``, lines of ``<topic id> <topic>``). The next start of the broker finds
logs of a topic that the metadata store does not know, and creates the topic from its logs instead of setting them aside
again (``membership/reconcile.py``, case D). If the topic has come into the store meanwhile, the topic stays as it is
and its logs are set aside again.

Blocking. Only :func:`adopt` and :func:`delete` write, and only with the log directories locked as a broker locks them.
A log is never taken in the place of another, nor a part of a topic for the whole.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore._core import BatchHeaders, ScanError
from kafkastore.errors import KafkastoreError
from kafkastore.log.manager import ADOPT_FILE
from kafkastore.metadata.backup import locked
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import parse_topic_id, topic_id_text
from kafkastore.plain_files import open_plain, sync_path
from kafkastore.system import sync_descriptor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_NAME: Final = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>[0-9]+)(?P<rest>\.[0-9a-f]+-stray)")
_MAX_FILE_NAME: Final = 255
_MAX_NAMED: Final = 10


class StrayError(KafkastoreError):
    """One sentence for the operator who gave the command."""


class Stray(NamedTuple):
    """A log's directory that was set aside. ``topic`` may be cut (:meth:`is_of`); ``topic_id`` is None when the
    directory does not record it."""

    topic: str
    partition: int
    topic_id: bytes | None
    log_dir: str
    path: str

    def is_of(self, topic: str) -> bool:
        """Whether the directory's name stands for this topic: long names are cut to fit."""
        name = os.path.basename(self.path)
        if self.topic == topic:
            return True
        return len(name) == _MAX_FILE_NAME and len(topic) > len(self.topic) and topic.startswith(self.topic)


class LogContent(NamedTuple):
    """The content of a log's segments, in figures. ``fault`` says where reading ended early."""

    records: int
    size_bytes: int
    first_offset: int
    end_offset: int
    fault: str | None


def find(log_dirs: Iterable[str]) -> list[Stray]:
    """The logs that are set aside, sorted by topic and partition. Raises StrayError."""
    found = []
    for log_dir in log_dirs:
        try:
            names = os.listdir(log_dir)
        except OSError as error:
            raise StrayError(f"log.dirs={log_dir} cannot be read: {error.strerror}") from None
        for name in names:
            match = _NAME.fullmatch(name)
            if match is not None:
                path = os.path.join(log_dir, name)
                found.append(Stray(match["topic"], int(match["partition"]), _topic_id(path), log_dir, path))
    return sorted(found, key=lambda one: (one.topic, one.partition, one.path))


def content(stray: Stray) -> LogContent:
    """Reads the headers of all batches."""
    records = size = 0
    first = end = -1
    for name in sorted(os.listdir(stray.path)):
        if not name.endswith(".log"):
            continue
        path = os.path.join(stray.path, name)
        size += os.path.getsize(path)
        try:
            headers = BatchHeaders(path)
            while batches := headers.next_chunk():
                records += sum(batch.count for batch in batches)
                first = batches[0].base_offset if first < 0 else first
                end = batches[-1].last_offset + 1
        except ScanError as error:
            return LogContent(records, size, first, end, str(error))
    return LogContent(records, size, first, end, None)


def adopt(topic: str, log_dirs: Sequence[str]) -> list[Stray]:
    """Prepares the logs of ``topic`` for the next start, which takes them as the whole topic. Returns them. Raises
    StrayError, with no log renamed."""
    with locked(log_dirs):
        strays = [one for one in find(log_dirs) if one.is_of(topic)]
        topic_id = _check(topic, strays, log_dirs)
        line = f"{topic_id_text(topic_id)} {topic}\n"
        done: list[tuple[str, str]] = []
        try:
            for log_dir in {one.log_dir for one in strays}:
                _add_line(log_dir, line)
            for one in strays:
                back = os.path.join(one.log_dir, f"{topic}-{one.partition}")
                os.rename(one.path, back)
                done.append((back, one.path))
            for log_dir in {one.log_dir for one in strays}:
                sync_path(log_dir)
        except OSError as error:
            for back, path in reversed(done):
                with suppress(OSError):
                    os.rename(back, path)
            raise StrayError(f"{error.filename or topic}: {error.strerror}; nothing was changed") from None
        return strays


def _check(topic: str, strays: Sequence[Stray], log_dirs: Sequence[str]) -> bytes:
    """The topic's id. Raises StrayError when the logs must not be taken back."""
    if not strays:
        raise StrayError(f"no log of topic {topic} is set aside in {', '.join(log_dirs)}")
    ids = {one.topic_id for one in strays}
    topic_id = strays[0].topic_id
    if len(ids) > 1 or topic_id is None:
        shown = ", ".join(
            f"{one.path} ({'no id' if one.topic_id is None else topic_id_text(one.topic_id)})" for one in strays
        )
        raise StrayError(
            f"the logs of {topic} that are set aside are not of one topic id: {shown}; move the others away"
        )
    paths: dict[int, str] = {}
    for one in strays:
        name = f"{topic}-{one.partition}"
        if one.partition in paths:
            both = f"{paths[one.partition]}, {one.path}"
            raise StrayError(f"{name} was set aside more than once: {both}; move all but one away")
        paths[one.partition] = one.path
        for log_dir in log_dirs:
            there = os.path.join(log_dir, name)
            if os.path.lexists(there):
                raise StrayError(f"{there} is in the place of {name}: the topic is served; nothing is taken back")
    missing = list(islice((number for number in range(max(paths)) if number not in paths), _MAX_NAMED + 1))
    if missing:
        shown = ", ".join(map(str, missing[:_MAX_NAMED])) + (", …" if len(missing) > _MAX_NAMED else "")
        raise StrayError(
            f"partitions {shown} of {topic} are not set aside here; copy their directories from"
            " another broker into a log directory of this one first, or they would be empty"
        )
    return topic_id


def delete(path: str, log_dirs: Sequence[str]) -> Stray:
    """Removes one directory that was set aside. Raises StrayError."""
    wanted = os.path.abspath(path)
    with locked(log_dirs):
        found = [one for one in find(log_dirs) if one.path == wanted]
        if not found:
            raise StrayError(f"{path} is no log that was set aside in {', '.join(log_dirs)}; nothing is deleted")
        try:
            shutil.rmtree(found[0].path)
            sync_path(found[0].log_dir)
        except OSError as error:
            raise StrayError(f"{error.filename or path} cannot be deleted: {error.strerror}") from None
        return found[0]


# ---- used by the next start
def wanted(log_dirs: Iterable[str]) -> set[tuple[str, bytes]]:
    """(topic, id) of each topic that :func:`adopt` has prepared and no start has taken back yet."""
    return {pair for log_dir in log_dirs for pair in _lines(log_dir)}


def forget(log_dirs: Iterable[str]) -> None:
    """Deletes the files of :func:`adopt`, once the topics are taken back. Raises OSError."""
    for log_dir in log_dirs:
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(log_dir, ADOPT_FILE))


def _lines(log_dir: str) -> Iterator[tuple[str, bytes]]:
    try:
        with open(os.path.join(log_dir, ADOPT_FILE), encoding="ascii", errors="replace", opener=open_plain) as file:
            lines = file.read().splitlines()
    except OSError:
        return
    for line in lines:
        topic_id, _, topic = line.partition(" ")
        with suppress(InvalidNodeError):
            yield topic, parse_topic_id(topic_id)


def _add_line(log_dir: str, line: str) -> None:
    with open(os.path.join(log_dir, ADOPT_FILE), "a", encoding="ascii", opener=open_plain) as file:
        file.write(line)
        file.flush()
        sync_descriptor(file.fileno())


def _topic_id(path: str) -> bytes | None:
    try:
        with open(
            os.path.join(path, "partition.metadata"), encoding="ascii", errors="replace", opener=open_plain
        ) as file:
            lines = file.read().splitlines()
        given = next((line.partition(":")[2].strip() for line in lines if line.startswith("topic_id:")), "")
        return parse_topic_id(given) if given else None
    except (OSError, InvalidNodeError):
        return None
