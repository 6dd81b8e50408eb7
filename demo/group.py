"""The consumer group of the demo: two members read, a third joins, and one of the first two is killed. The members'
reports are collected."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import Any

from demo.flights import Delays
from demo.progress import Progress

GROUP = "delays"
JOIN_AT = 0.05  # of all records: the third member starts
KILL_WITH_UNCOMMITTED = (
    1000  # when the third member owns partitions, the next older member with this many uncommitted records is killed
)
LIMIT_S = 60


class Member:
    """A member process; the lines that it prints go to the queue of all members."""

    def __init__(self, name: str, bootstrap: str, reports: queue.Queue[tuple[str, dict[str, Any]]]) -> None:
        self.name = name
        command = [sys.executable, "-m", "demo.member", bootstrap, GROUP]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self._reports = reports
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith(b"\n"):  # a killed member's last line may be cut
                self._reports.put((self.name, json.loads(line)))

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(LIMIT_S)
        self._reader.join(LIMIT_S)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass
class Reading:
    """What the group read: by partition and offset the row and carrier, how many records each member read, and how many
    were read twice."""

    rows: dict[int, dict[int, tuple[int, str]]] = field(default_factory=dict)
    delays: Delays = field(default_factory=Delays)
    by_member: dict[str, int] = field(default_factory=dict)
    records: int = 0
    twice: int = 0
    seconds: float = 0.0
    killed: str = ""  # the name of the killed member
    until_kill: tuple[int, float] = (0, 0.0)  # records read, and seconds, until the kill

    def take(self, member: str, partition: int, offset: int, flights: list[tuple[int, str, int | None]]) -> None:
        """Keeps one reported batch; a record read again must be the same record."""
        at = self.rows.setdefault(partition, {})
        for place, (row, carrier, delay) in enumerate(flights, offset):
            if place not in at:
                at[place] = (row, carrier)
                self.delays.add(carrier, delay)
                self.records += 1
            elif at[place] == (row, carrier):
                self.twice += 1
            else:
                raise SystemExit(
                    f"offset {place} of partition {partition} changed from {at[place]} to {(row, carrier)}"
                )
        self.by_member[member] = self.by_member.get(member, 0) + len(flights)


def read_with_a_changing_group(bootstrap: str, total: int) -> Reading:
    """Runs the group; returns when each record has been read by a member."""
    reports: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
    members = {name: Member(name, bootstrap, reports) for name in ("first", "second")}
    progress = Progress("consume", total)
    reading = Reading()
    third_owns = False
    try:
        while reading.records < total:
            name, news = reports.get(timeout=LIMIT_S)
            if "owned" in news:
                third_owns = third_owns or (name == "third" and bool(news["owned"]))
                progress.say(f"the {name} member owns partitions {news['owned']}")
                continue
            reading.take(name, news["partition"], news["offset"], news["flights"])
            progress.update(reading.records, f"{reading.twice:,} twice" if reading.twice else "")
            if "third" not in members and reading.records > JOIN_AT * total:
                members["third"] = Member("third", bootstrap, reports)
                progress.say("a third member joins")
            if third_owns and not reading.killed and name != "third" and news["uncommitted"] >= KILL_WITH_UNCOMMITTED:
                members[name].kill()
                reading.killed = name
                reading.until_kill = (reading.records, progress.seconds)
                progress.say(
                    f"the {name} member is killed (SIGKILL); the others take over when its session expires, after 6 s"
                )
    except queue.Empty:
        raise SystemExit(f"nothing was read for {LIMIT_S} s: {reading.records:,} of {total:,} records") from None
    finally:
        for name, member in members.items():
            if name != reading.killed:
                member.end()
    if not reading.killed:
        raise SystemExit("every record was read before the third member owned a partition: nobody was killed")
    reading.seconds = progress.finish(reading.records)
    return reading
