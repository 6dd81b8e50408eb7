"""Runs a plan: prepares the target, mirrors until it is told to end, cuts over.

One thread does everything in turn, so that between two steps nothing moves: a step of each lane, and once in a while
groups and a report. What is to survive a kill is in the target alone; :meth:`Migration.open` finds it there.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore._core import Consumer
from kafkastore.admin.admin_client import AdminError
from kafkastore.admin.offsets import EARLIEST, LATEST, offsets_at
from kafkastore.migration import preparing
from kafkastore.migration.comparing import differences
from kafkastore.migration.groups import GroupSync
from kafkastore.migration.lane import Lane, OutOfRangeError, consumer_keys, said
from kafkastore.migration.marks import Marks, Run, decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kafkastore.admin.admin_client import AdminClient
    from kafkastore.migration.clusters import Cluster
    from kafkastore.migration.groups import GroupsSet
    from kafkastore.migration.plan import Plan

    Partition = tuple[str, int]

WAIT_MS: Final = 100
"""How long a lane waits for the first record of a transaction."""
CHECK_S: Final = 0.5
"""Between two looks at the source's ends while nothing comes."""


class Options(NamedTuple):
    """``until_caught_up``: ends when everything is mirrored that there was; ``cut_over``: ends when the source is
    quiet for ``stable_s``, and nothing is left to do."""

    until_caught_up: bool = False
    cut_over: bool = False
    stable_s: float = 10.0
    groups_s: float = 10.0
    report_s: float = 5.0
    compared: int = 1_000


class TopicProgress(NamedTuple):
    """``records`` and ``bytes`` are those of this run; ``lag_seconds`` is the age of the record that was mirrored last,
    while there are more, None before the first."""

    topic: str
    records: int
    bytes: int
    lag_records: int
    lag_seconds: float | None


class Outcome(NamedTuple):
    """Of a cut-over. ``differences`` and ``refused`` are sentences; one makes it a failure."""

    groups: GroupsSet
    compared: int
    differences: list[str]
    refused: dict[str, str]


class Migration:
    """``tell`` gets (kind of event, what there is to say): "made", "warning", "progress", "groups", "waiting"."""

    def __init__(self, plan: Plan, source: Cluster, target: Cluster, tell: Callable[[str, Any], None]) -> None:
        self.plan, self.source, self.target = plan, source, target
        self.tell = tell
        self.lanes = [
            Lane(plan, codec, [one for one in plan.topics if one.compression == codec], source, target)
            for codec in sorted({one.compression for one in plan.topics})
        ]
        self.groups = GroupSync(plan, source, target)
        self._counts: dict[str, int] = {}

    # ---- begin
    def open(self, passwords: Mapping[str, str]) -> dict[str, str]:
        """Makes what is not there, and finds the positions; returns what was refused of ACLs, quotas and users. Raises
        AdminError."""
        self.source.ask(lambda client: preparing.check_cluster(client, self.plan.source, "--from-bootstrap-server"))
        self.target.ask(lambda client: preparing.check_cluster(client, self.plan.target, "--bootstrap-server"))
        self._grow()
        said_of, refused = self.target.ask(lambda client: preparing.make_rest(client, self.plan, passwords))
        for sentence in said_of:
            self.tell("made", sentence)
        for lane in self.lanes:
            lane.open()
        self._find_positions()
        return refused

    def _grow(self) -> bool:
        """Makes topics and partitions that the target lacks; whether the source has more than before."""
        counts = self.source.ask(lambda client: preparing.check_source(client, self.plan.topics))
        if counts == self._counts:
            return False
        for sentence in self.target.ask(lambda client: preparing.make_topics(client, self.plan, counts)):
            self.tell("made", sentence)
        self._counts = counts
        return True

    def _find_positions(self) -> None:
        marks = self._read_marks()
        marked = {key: one.position for key, one in marks.items()}
        found, ends = self.target.ask(
            lambda client: preparing.positions_and_ends(client, self.plan, self._counts, marked)
        )
        firsts = self.source.ask(lambda client: offsets_at(client, ends, EARLIEST))
        for topic, number in found:
            if (topic, number) not in marks:
                raise AdminError(
                    f"topic {self.plan.group} of the target lacks the marks of {topic}-{number}: delete what was "
                    "mirrored, and plan again with another --id"
                )
        for lane in self.lanes:
            lane.positions = {key: offset for key, offset in found.items() if key[0] in lane.topics}
            lane.marks = {key: marks[key] for key in lane.positions if key in marks}
            lane.begin({key: Run(firsts[key], end, 0) for key, end in ends.items() if key[0] in lane.topics})
            lane.read_on()

    def _read_marks(self) -> dict[Partition, Marks]:
        found: dict[Partition, Marks] = {}
        key = (self.plan.group, 0)
        end = self.target.ask(lambda client: offsets_at(client, [key], LATEST))[key]
        consumer = Consumer(consumer_keys(self.target, self.plan.group))
        consumer.assign({key: -2})
        try:
            with said("the target"):
                while consumer.positions().get(key, -1) < end:
                    for batch in consumer.poll(WAIT_MS, 5_000):
                        for one in batch.records():
                            partition, runs = decoded(one.key or b"", one.value or b"")
                            for run in runs:
                                found.setdefault(partition, Marks()).add(run)
        finally:
            consumer.close()
        return found

    # ---- mirror
    def run(self, options: Options) -> Outcome | None:
        """Mirrors until the options say that it is enough, or for ever; the outcome of a cut-over. Raises
        AdminError."""
        groups_at = report_at = 0.0
        checked_at, quiet = 0.0, _Quiet(options.stable_s)
        while True:
            copied = sum(self._copy(lane) for lane in self.lanes)
            now = time.monotonic()
            if now >= groups_at:
                self._tell_groups()
                if self._grow():
                    self._find_positions()
                groups_at = time.monotonic() + options.groups_s
            if now >= report_at:
                self._report()
                report_at = now + options.report_s
            if copied or now < checked_at + CHECK_S or not (options.until_caught_up or options.cut_over):
                continue
            checked_at = now
            waits_for = self._waits_for(quiet if options.cut_over else None, now)
            if waits_for is None:
                self._report()
                if options.cut_over:
                    return self._cut_over(options)
                self._tell_groups()
                return None
            self.tell("waiting", waits_for)

    def _copy(self, lane: Lane) -> int:
        try:
            copied = lane.copy_some(WAIT_MS)
        except OutOfRangeError as error:
            self._skip_deleted(lane, error)
            return 0
        for sentence in lane.warnings():
            self.tell("warning", sentence)
        return copied

    def _skip_deleted(self, lane: Lane, error: OutOfRangeError) -> None:
        """Goes on behind records that the source has deleted before they were mirrored. Raises the error for a
        partition that ends before its position: it was made anew, or lost records."""
        firsts = self.source.ask(lambda client: offsets_at(client, lane.positions, EARLIEST))
        behind = {key: first for key, first in firsts.items() if first > lane.positions[key]}
        if not behind:
            raise error
        for (topic, number), first in behind.items():
            before = lane.positions[topic, number]
            self.tell("warning", f"{topic}-{number}: the source has deleted its records from {before} to {first - 1}")
        lane.positions |= behind
        lane.read_on()

    def _waits_for(self, quiet: _Quiet | None, now: float) -> str | None:
        """What keeps the mirror from its end; None when it is there."""
        ends = self._source_ends()
        reached = self._joined(lane.reached() for lane in self.lanes)
        late = [key for key, end in ends.items() if reached.get(key, -1) < end]
        left = None if quiet is None else quiet.left_s(ends, now)
        if late:
            topic, number = late[0]
            stable = self._joined(lane.ends() for lane in self.lanes)
            if all(reached.get(key, -1) >= stable.get(key, ends[key]) for key in late):
                if quiet is None:
                    return None
                return f"a transaction is open in the source ({topic}-{number}); end it, or its producer"
            return f"{len(late)} partitions are not mirrored to their ends yet"
        return None if not left else f"the source has to be quiet for {left:.0f} s more; stop its producers"

    def _source_ends(self) -> dict[Partition, int]:
        async def ends(client: AdminClient) -> dict[Partition, int]:
            return await offsets_at(client, [key for lane in self.lanes for key in lane.positions], LATEST)

        return self.source.ask(ends)

    def _tell_groups(self) -> None:
        self.tell("groups", self._set_groups())

    def _set_groups(self) -> GroupsSet:
        return self.groups.set_all(
            self._joined(lane.marks for lane in self.lanes), self._joined(lane.reached() for lane in self.lanes)
        )

    def _report(self) -> None:
        self.tell("progress", self.progress())

    def progress(self) -> list[TopicProgress]:
        """By topic, as far as brokers have said how much there is."""
        found = []
        for lane in self.lanes:
            reached, ends = lane.reached(), lane.ends()
            for topic, copied in lane.copied.items():
                lag = sum(max(end - reached.get(key, end), 0) for key, end in ends.items() if key[0] == topic)
                seconds: float | None = 0.0
                if lag:
                    seconds = round(max(time.time() - copied.newest_ms / 1000, 0), 1) if copied.newest_ms >= 0 else None
                found.append(TopicProgress(topic, copied.records, copied.bytes, lag, seconds))
        return sorted(found)

    # ---- end
    def _cut_over(self, options: Options) -> Outcome:
        """The source is quiet, and mirrored whole. Raises AdminError."""
        marks = self._joined(lane.marks for lane in self.lanes)
        reached = self._joined(lane.reached() for lane in self.lanes)
        groups = self._set_groups()
        refused = {f"group {name}": str(error) for name, error in groups.refused.items()}
        later = self.target.ask(lambda client: preparing.set_later_configs(client, self.plan))
        refused |= {f"topic {name}": str(error) for name, error in later.items()}
        ends = self.target.ask(lambda client: offsets_at(client, marks, LATEST))
        compared, found = differences(
            self.plan, (self.source, self.target), marks, (reached, ends), options.compared
        )  # fmt: skip
        if self._source_ends() != {key: reached[key] for key in marks}:
            raise AdminError("the source was written during the cut-over; stop its producers, and run again")
        return Outcome(groups, compared, found, refused)

    def close(self) -> None:
        for lane in self.lanes:
            lane.close()

    @staticmethod
    def _joined(parts: Iterable[Mapping[Partition, Any]]) -> dict[Partition, Any]:
        return {key: value for part in parts for key, value in part.items()}


class _Quiet:
    """For how long the ends of a cluster have been the same."""

    def __init__(self, stable_s: float) -> None:
        self._stable_s = stable_s
        self._ends: dict[Partition, int] | None = None
        self._since = 0.0

    def left_s(self, ends: dict[Partition, int], now: float) -> float:
        """How long they have to stay as they are; 0 when it is enough."""
        if ends != self._ends:
            self._ends, self._since = ends, now
        return max(self._since + self._stable_s - now, 0.0)
