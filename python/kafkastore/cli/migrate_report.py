"""What ``kafkastore migrate`` prints: the report of a directory, the summary of a plan, the progress of a run."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any, Self

import click

from kafkastore.cli.outcome import FailedError
from kafkastore.cli.output import printable
from kafkastore.cli.progress import Bar, Reading
from kafkastore.system import processors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.migration.groups import GroupsSet
    from kafkastore.migration.migration import Outcome, TopicProgress
    from kafkastore.migration.plan import Plan
    from kafkastore.migration.verdict import Verdict


# ---- check
def faults_of(log_dirs: list[str], shows_progress: bool) -> int:
    """Verifies every file, as kafkastore check. Raises FailedError."""
    from kafkastore._core import Check
    from kafkastore.cli.check import run_check

    try:
        return run_check(Check(log_dirs, threads=processors()), shows_progress).faults
    except ValueError as error:
        raise FailedError(error) from None


def report_json(found: Verdict) -> dict[str, Any]:
    """The report of a directory, for programs."""
    from kafkastore.migration.verdict import levels

    of = found.directory
    return {
        "can_be_served": not found.reasons,
        "reasons": found.reasons,
        "without_effect": found.without_effect,
        "steps": found.steps,
        "way_back": found.way_back,
        "log_dirs": of.log_dirs,
        "meta_properties": [one and one._asdict() for one in of.metas],
        "mode": of.mode,
        "cluster_id": next((one.cluster_id for one in of.known), None),
        "node_id": next((int(one.node_id) for one in of.known if one.node_id), None),
        "features": levels(of),
        "brokers": sorted(of.metadata.brokers),
        "is_running": of.is_running,
        "was_stopped_cleanly": of.is_clean,
        "topics": len(of.own_topics),
        "internal_topics": sorted(one.name for one in of.topics if one not in of.own_topics),
        "tiered_topics": of.tiered,
        "partitions": sum(len(one.partitions) for one in of.topics),
        "bytes": sum(one.size_bytes for one in of.topics),
        "message_formats": dict(of.formats),
        "compression": dict(of.codecs),
        "taken_over": dict(found.taken),
        "left_out": dict(found.left_out),
    }


def report_text(found: Verdict) -> str:
    """The same for people."""
    what = report_json(found)
    ids = f"cluster {what['cluster_id']}, node {what['node_id']}"
    version = what["features"].get("metadata.version")
    versions = ", ".join(sorted({one.version for one in found.directory.known}))
    kraft = f", metadata.version {version}" if version else ""
    own = ", ".join(what["internal_topics"]) or "none"
    formats, codecs = _counted(what["message_formats"]), _counted(what["compression"])
    lines = [
        f"{', '.join(what['log_dirs'])}: Apache Kafka with {what['mode']}{kraft}",
        f"meta.properties of version {versions or 'none'}: {ids}",
        f"{what['topics']} topics and Kafka's own ({own}), {what['partitions']} partitions, {what['bytes']:,} bytes",
        f"batches in the first and the last segments: {formats}; compression: {codecs}",
        f"features: {', '.join(f'{name}={level}' for name, level in what['features'].items()) or 'none'}",
        f"taken over: {_counted(what['taken_over'])}",
        *(f"no effect: {one}" for one in found.without_effect),
    ]
    if found.reasons:
        lines += ["a broker cannot serve it:", *(f"  {one}" for one in found.reasons)]
    else:
        lines += ["a broker serves it as it is:", *(f"  {one}" for one in found.steps)]
        lines += ["the way back:", *(f"  {one}" for one in found.way_back)]
    return "".join(f"{printable(line)}\n" for line in lines)


def _counted(found: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in sorted(found.items())) or "nothing"


# ---- plan
def plan_summary(plan: Plan) -> str:
    """A few lines for eyes."""
    size = sum(one.bytes for one in plan.topics)
    partitions = sum(one.partitions for one in plan.topics)
    records = sum(one.records for one in plan.topics)
    source, target = (f"{one.bootstrap_servers} (cluster {one.cluster_id})" for one in (plan.source, plan.target))
    what = f"{len(plan.acls)} ACLs, {len(plan.users)} SCRAM credentials, {len(plan.quotas)} quotas"
    lines = [
        f"from {source} to {target}, as {plan.group}",
        f"{len(plan.topics)} topics, {partitions} partitions, up to {records:,} records, {size:,} bytes",
        f"about {_duration(plan.seconds)} to mirror what there is",
        f"{what}, {len(plan.groups)} groups with offsets",
    ]
    lines += [f"{one.name}: in the target: {difference}" for one in plan.topics for difference in one.differences]
    return "".join(f"{printable(line)}\n" for line in [*lines, *(f"note: {one}" for one in plan.notes)])


def _duration(seconds: int) -> str:
    if seconds < 60:
        return "a minute"
    hours, rest = divmod(seconds, 3600)
    return f"{hours} h {rest // 60} min" if hours else f"{rest // 60} min"


# ---- run
class RunReport:
    """Takes the events of a migration: a line of JSON for each, or on a terminal a bar and sentences."""

    def __init__(self, *, is_drawn: bool) -> None:
        self._is_drawn = is_drawn
        self._bar = Bar(is_shown=is_drawn)
        self._first_lag: int | None = None
        self._groups: GroupsSet | None = None
        self._waits_for = ""

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(self, *given: object) -> None:
        self._bar.__exit__(*given)

    def tell(self, kind: str, what: Any) -> None:
        """An event of ``Migration``."""
        if kind == "progress":
            self._progress(what)
        elif kind == "groups":
            self._told_groups(what)
        elif kind == "waiting" and (what == self._waits_for or self._is_drawn):
            self._waits_for = what
        else:
            self._sentence(kind, what)
            self._waits_for = what if kind == "waiting" else ""

    def _sentence(self, kind: str, sentence: str) -> None:
        if self._is_drawn:
            click.echo(printable(sentence), err=True)
        else:
            self._line({"event": kind, "message": sentence})

    def _line(self, content: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(content, ensure_ascii=False) + "\n")
        sys.stdout.flush()

    def _progress(self, topics: list[TopicProgress]) -> None:
        lag = sum(one.lag_records for one in topics)
        records = sum(one.records for one in topics)
        if self._is_drawn:
            seconds = max((one.lag_seconds or 0 for one in topics), default=0)
            figures = f"{records:,} records mirrored, {lag:,} to come, {seconds:,.0f} s behind"
            groups = f", {self._groups.groups} groups set" if self._groups else ""
            waits = f"; {self._waits_for}" if self._waits_for else ""
            self._bar.show(Reading(records, records + lag, figures + groups + waits))
            return
        rows = [one._asdict() for one in topics]
        now = int(time.time() * 1000)
        self._line({"event": "progress", "time_ms": now, "records": records, "lag_records": lag, "topics": rows})

    def _told_groups(self, groups: GroupsSet) -> None:
        self._groups = groups
        if self._is_drawn:
            return
        refused = {name: str(error) for name, error in groups.refused.items()}
        self._line({"event": "groups", **groups._asdict(), "refused": refused})

    def refused(self, refused: Mapping[str, str]) -> None:
        for name, reason in refused.items():
            self._sentence("refused", f"{name}: {reason}")

    def interrupted(self) -> None:
        click.echo("stopped; the same command goes on where this one ended", err=True)

    def cut_over(self, outcome: Outcome, servers: str) -> None:
        """What a cut-over found, and what to do next."""
        groups = outcome.groups
        said = [
            f"{outcome.compared:,} records at the ends of partitions compared, {len(outcome.differences)} differ",
            f"{groups.groups} groups are where they were in the source",
        ]
        said += [f"{name}: has members in the target and was left alone" for name in groups.active]
        said += [f"{name}: {count} offsets were further in the target and stay" for name, count in groups.ahead.items()]
        said += [
            f"{name}: still has members in the source; what it reads there from now on it reads again here"
            for name in groups.at_work
        ]
        if not outcome.differences and not outcome.refused:
            said.append(f"now set bootstrap.servers={servers} for producers and consumers, and start them")
        for sentence in said:
            self._sentence("cut_over", sentence)
