"""Moves the logs of topics from one stopped broker's directory into another's, Kafka's or ours: the formats are the
same.

The target has the same topics, empty; their ids stay (partition.metadata is the target's), everything else in the
partition folders becomes the source's, and so do the checkpoints of these partitions.
"""

from __future__ import annotations

import shutil
from pathlib import Path

CHECKPOINTS = ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint")
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
OF_THE_TARGET = "partition.metadata"


def read_checkpoint(path: Path) -> dict[str, str]:
    """`topic partition` -> offset; the file is a version, a count, then a line each."""
    lines = path.read_text().splitlines() if path.exists() else ["0", "0"]
    return dict(line.rsplit(" ", 1) for line in lines[2:])


def write_checkpoint(path: Path, entries: dict[str, str]) -> None:
    path.write_text(
        "".join(
            f"{line}\n" for line in ["0", str(len(entries)), *(f"{name} {offset}" for name, offset in entries.items())]
        )
    )


def partition_folders(log_dir: Path, topics: set[str]) -> list[Path]:
    return sorted(folder for folder in log_dir.iterdir() if folder.is_dir() and folder.name.rsplit("-", 1)[0] in topics)


def transplant(source: Path, target: Path, topics: set[str]) -> None:
    """Both brokers are stopped. An unclean stop of the source stays one: the target then has to recover."""
    for folder in partition_folders(source, topics):
        received = target / folder.name
        assert received.is_dir(), f"{received}: the target lacks the topic"
        for file in received.iterdir():
            if file.name != OF_THE_TARGET:
                file.unlink()
        for file in folder.iterdir():
            if file.name != OF_THE_TARGET:
                shutil.copy2(file, received / file.name)
    for name in CHECKPOINTS:
        moved = {
            key: offset for key, offset in read_checkpoint(source / name).items() if key.rsplit(" ", 1)[0] in topics
        }
        kept = {
            key: offset for key, offset in read_checkpoint(target / name).items() if key.rsplit(" ", 1)[0] not in topics
        }
        write_checkpoint(target / name, kept | moved)
    if not (source / CLEAN_SHUTDOWN).exists():
        (target / CLEAN_SHUTDOWN).unlink(missing_ok=True)
