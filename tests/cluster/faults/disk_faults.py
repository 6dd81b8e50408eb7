"""Disks that are full, that fail to sync, and that flip a bit by themselves (H24, H25, H26)."""

from __future__ import annotations

import subprocess
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, TopicPartition

from cluster.faults.faulty_cluster import host
from cluster.faults.process_faults import RESUME_LIMIT_S, SESSION_S
from cluster.faults.traffic import CLIENT, id_of
from cluster.faults.trial import ALL, Trial, batches_of
from peer.broker_process import BrokerFailedError, wait_until
from peer.kafkastore_broker import executable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GONE_LIMIT_S = 10.0
"""How soon a broker whose only log directory has failed must end."""

SEGMENTS = 4
READ_LIMIT_S = 20.0
BATCH_HEADER_BYTES = 61
SEALED_AT, ACTIVE_AT = 2, 0
"""The number of the batch that gets the flipped bit, in the sealed and in the active segment."""


def disk_is_full(trial: Trial) -> None:
    """The disk of the leader, or of a follower in every other trial, is full. The broker's only log directory goes
    offline, so the broker ends; with free space it starts again (H24)."""
    victim = _victim(trial)
    disk = trial.cluster.disks[host(victim)]
    _ends_and_the_others_go_on(trial, victim, disk.fill, disk.make_room)


def sync_fails(trial: Trial) -> None:
    """EIO at every sync: the page cache takes the records, the disk never does. The broker acknowledges nothing after
    such a sync, does not repeat the sync, and ends (H25)."""
    victim = _victim(trial)
    disk = trial.cluster.disks[host(victim)]
    _ends_and_the_others_go_on(trial, victim, disk.fail_syncs, disk.sync_again)


def _ends_and_the_others_go_on(
    trial: Trial, victim: int, corrupt: Callable[[], None], mend: Callable[[], None]
) -> None:
    """Corrupts the disk of a broker: the broker must end, and the other brokers must go on. The broker is killed before
    its disk is mended."""
    broker = trial.cluster.broker(victim)
    since = time.monotonic()
    corrupt()
    try:
        trial.resumes(ALL, since, SESSION_S + RESUME_LIMIT_S)
        ends = f"broker {victim} ends, its log directory being offline"
        wait_until(lambda: not broker.is_running(), GONE_LIMIT_S, ends)
        said = f"{broker.log_dir} failed:"
        trial.expect(said in broker.output(), f"broker {victim} ended and does not say {said!r}")
        trial.wait_for_acks(500)
    finally:
        broker.kill()
        mend()


def _victim(trial: Trial) -> int:
    leader = trial.leader()
    return trial.cluster.others(leader)[0] if trial.number % 2 else leader


# ---- bit rot
def follower_rots(trial: Trial) -> None:
    """One bit of a sealed segment and one of the active segment flip on a follower, which is then killed. Recovery cuts
    the damaged records that it has to read, or refuses the file by name; ``kafkastore check`` names both files; the
    follower fetches the removed records from the leader again (H26)."""
    cluster = trial.cluster
    victim = cluster.others(trial.leader())[0]
    broker = cluster.broker(victim)
    sealed, active = _rot(trial, victim)
    broker.kill()
    checked = subprocess.run(
        [executable(), "check", str(sealed.parent), "--no-progress"], capture_output=True, text=True, check=False
    )
    for path in (sealed, active):
        trial.expect(path.name in checked.stdout, f"`kafkastore check` does not name {path.name}: {checked.stdout}")
    point = _recovery_point(broker.log_dir, sealed.parent.name)
    changed = {path: batches_of(path)[at] for path, at in ((sealed, SEALED_AT), (active, ACTIVE_AT))}
    broker.launch()
    wait_until(lambda: _has_started_or_ended(trial, victim), 30, f"broker {victim} starts or refuses to")
    for path, (base, batch) in changed.items():
        is_left = broker.is_running() and path.exists() and (base, batch) in batches_of(path)
        trial.expect(base < point or not is_left, f"recovery from {point} on left the changed batch of {base}")
    if not broker.is_running():
        trial.expect(active.name in broker.output(), "the start was refused without the name of the file")
    _replace_replica(trial, victim, sealed.parent)


def leader_rots(trial: Trial) -> None:
    """The same on the leader, while it leads: no reader and no new replica takes a damaged record, and when the leader
    is gone the other brokers have every good record (H26)."""
    cluster = trial.cluster
    leader = trial.leader()
    empty, good = cluster.others(leader)
    sealed, _ = _rot(trial, leader)
    _read_against_acks(trial, cluster.broker(leader).bootstrap)
    folder = cluster.broker(empty).log_dir / f"{trial.topic}-0"
    broker = cluster.broker(empty)
    broker.kill()
    _remove(folder)
    before = len(broker.output())
    broker.start()
    said = f"{folder.name}: what the leader sent is refused"
    wait_until(lambda: said in broker.output()[before:], 30, f"broker {empty} says {said!r}")
    trial.expect(empty not in cluster.partition(trial.topic).isrs, "a replica is in sync that cannot have everything")
    whole = _bytes_of(cluster.broker(good).log_dir / folder.name)
    trial.expect(whole.startswith(_bytes_of(folder)), "the new replica has other bytes than a good one")
    at = time.monotonic()
    _replace_replica(trial, leader, sealed.parent)
    trial.resumes(ALL, at, SESSION_S + RESUME_LIMIT_S)


def _rot(trial: Trial, node: int) -> tuple[Path, Path]:
    """Flips a bit in the first sealed segment of partition 0 and in the active segment; returns the two files."""
    folder = trial.cluster.broker(node).log_dir / f"{trial.topic}-0"

    def segments() -> list[Path]:
        return sorted(folder.glob("*.log"))

    wait_until(lambda: len(segments()) >= SEGMENTS and batches_of(segments()[-1])[1:], 60, f"{SEGMENTS} segments")
    sealed, active = segments()[0], segments()[-1]
    for path, at in ((sealed, SEALED_AT), (active, ACTIVE_AT)):
        before = sum(len(batch) for _, batch in batches_of(path)[:at])
        with path.open("r+b") as file:
            file.seek(before + BATCH_HEADER_BYTES + 40)
            byte = file.read(1)[0]
            file.seek(-1, 1)
            file.write(bytes([byte ^ 0x10]))
    trial.wait_for_acks(200)
    return sealed, active


def _recovery_point(log_dir: Path, partition: str) -> int:
    """The partition's recovery point: recovery does not read the records below it."""
    found = log_dir / "recovery-point-offset-checkpoint"
    rows = [line.split() for line in found.read_text().splitlines()[2:]] if found.exists() else []
    return next((int(offset) for topic, number, offset in rows if f"{topic}-{number}" == partition), 0)


def _read_against_acks(trial: Trial, bootstrap: str) -> None:
    """A consumer that checks CRCs must get an error, and no record that differs from the acknowledged one."""
    acked = {ack.offset: ack.id for ack in list(trial.writer.acks) if ack.partition == 0 and ack.offset is not None}
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "check.crcs": True,
            **CLIENT,
        }
    )
    consumer.assign([TopicPartition(trial.topic, 0, 0)])
    position, errors, deadline = 0, 0, time.monotonic() + READ_LIMIT_S
    with closing(consumer):
        while position < max(acked) and time.monotonic() < deadline and not errors:
            for message in consumer.consume(1000, 0.2):
                offset = message.offset() or 0
                if message.error() is not None:
                    errors += 1
                elif offset in acked:
                    trial.expect(acked[offset] == id_of(message), f"offset {offset} was read changed")
                    position = offset
    trial.expect(errors > 0, "a changed record was read without an error")


def _replace_replica(trial: Trial, node: int, folder: Path) -> None:
    """Repairs the replica as an operator does: stops the broker, removes the partition's directory, and lets the broker
    fetch the partition from the leader."""
    trial.cluster.broker(node).kill()
    _remove(folder)
    trial.cluster.broker(node).start()


def _remove(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


def _bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))


def _has_started_or_ended(trial: Trial, node: int) -> bool:
    broker = trial.cluster.broker(node)
    if not broker.is_running():
        return True
    with suppress(AssertionError, BrokerFailedError):
        broker.wait_until_ready(0.5)
        return True
    return False
