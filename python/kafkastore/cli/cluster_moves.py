"""``kafkastore cluster add-brokers``, ``remove-brokers``, ``rebalance``, ``reassign`` and ``cancel``: plan the moves,
start them, show their progress."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from kafkastore.admin.admin_client import AdminError
from kafkastore.admin.balance import Plan, plan_added, plan_balanced, plan_removed
from kafkastore.admin.cluster_client import ClusterClient, names_of
from kafkastore.admin.mover import POLL_S, Mover
from kafkastore.admin.plan_file import check_plan, plan_text, read_plan
from kafkastore.admin.throttles import clear_throttles, set_rates, set_throttles
from kafkastore.cli.cluster import number_of
from kafkastore.cli.progress import Bar, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from kafkastore.admin.cluster_client import ClusterView
    from kafkastore.admin.mover import MoveProgress
    from kafkastore.interbroker.command_config import CommandConfig

    Planner = Callable[[ClusterView], Plan]

MAX_RATE = 2**62
MAX_FILE_BYTES = 64 << 20

ROUNDS = 5
"""How many times remove-brokers plans and moves: new topics may be placed on a broker while it is emptied."""


class MoveOptions(NamedTuple):
    """The command line; what a verb has not is empty."""

    bootstrap_server: str
    command_config: CommandConfig = None
    brokers: str = ""
    reassignment_json_file: str = ""
    throttle: str = "0"
    dry_run: bool = False
    shows_progress: bool = False


def run(verb: str, options: MoveOptions) -> None:
    """Raises KafkastoreError."""
    try:
        asyncio.run(_run(verb, options))
    except KeyboardInterrupt:
        path = click.get_current_context().command_path
        noun = path.rpartition(" ")[0]
        sys.stderr.write(f"\n{path}: stopped; what moves goes on: run the same again, or {noun} cancel\n")
        raise


async def _run(verb: str, options: MoveOptions) -> None:
    client = ClusterClient(options.bootstrap_server, options.command_config)
    try:
        if verb == "cancel":
            await _cancel(client)
        elif verb == "reassign":
            plan = read_plan(options.reassignment_json_file, _text_of(options.reassignment_json_file))
            rate = _rate(options)
            await _move_once(
                client, options, rate, lambda view: _plan_of_file(options.reassignment_json_file, plan, view)
            )
        elif verb == "add-brokers":
            await _add(client, options)
        elif verb == "rebalance":
            await _move_once(client, options, _rate(options), _plan_balanced)
        else:
            await _remove(client, options)
    finally:
        await client.aclose()


async def _add(client: ClusterClient, options: MoveOptions) -> None:
    """Puts brokers that were removed into service, also when the moves fail later, and moves partitions onto the new
    brokers."""
    nodes, rate = _nodes(options.brokers), _rate(options)
    if not options.dry_run:
        view = await client.view()
        _plan_added(view, nodes)  # a plan that is refused must change nothing
        await client.set_in_service(nodes, view, is_in_service=True)
    await _move_once(client, options, rate, lambda view: _plan_added(view, nodes))


async def _remove(client: ClusterClient, options: MoveOptions) -> None:
    """Takes the brokers out of service before their partitions move, so that they get no new replicas meanwhile."""
    nodes, rate = _nodes(options.brokers), _rate(options)
    if not options.dry_run:
        view = await client.view()
        _plan_removed(view, nodes)  # a plan that is refused must change nothing
        await client.set_in_service(nodes, view, is_in_service=False)
    for _ in range(ROUNDS):
        is_empty = await _move(client, options, rate, lambda view: _plan_removed(view, nodes))
        if is_empty or options.dry_run:
            break
    else:
        raise AdminError(
            f"broker(s) {_listed(nodes)} get new replicas while they are emptied; stop making topics and run it again"
        )
    if not options.dry_run:
        await _wait_until_deleted(client, nodes)
        sys.stdout.write(
            f"broker(s) {_listed(nodes)} hold nothing: they may be stopped. They are out of service: nothing is placed "
            "on them until kafkastore cluster add-brokers\n"
        )


async def _wait_until_deleted(client: ClusterClient, nodes: list[int]) -> None:
    """Waits until the live brokers among ``nodes`` have deleted their replicas, which they do after the moves. A broker
    that is not alive deletes them when it is back."""
    view = await client.view()
    while any(node in view.brokers and view.held.get(node, True) for node in nodes):
        await asyncio.sleep(POLL_S)
        view = await client.view()


async def _move_once(client: ClusterClient, options: MoveOptions, rate: int, planner: Planner) -> None:
    if await _move(client, options, rate, planner):
        sys.stdout.write("nothing moves: it is so already\n")


async def _move(client: ClusterClient, options: MoveOptions, rate: int, planner: Planner) -> bool:
    """Plans and moves. True when there was nothing to move."""
    view = await client.view()
    plan = planner(view)
    if options.dry_run:
        sys.stdout.write(f"{plan_text(plan.targets)}\n{_sum(plan)}\n")
        return False
    mover = Mover(client, view, plan.targets)
    if not mover.targets:
        await clear_throttles(client, view, ())  # those that a killed command has left
        return True
    if plan.targets:
        before = {key: view.partitions[key].target for key in plan.targets}
        sys.stdout.write(f"the current assignment, to roll back with:\n{plan_text(before)}\n")
    under_way = len(mover.targets) - len(plan.targets)
    more = f"; {under_way} partition(s) move already, {mover.total_bytes:,} bytes in all" if under_way > 0 else ""
    sys.stdout.write(_sum(plan) + more + "\n")
    sys.stdout.flush()
    if rate:
        await set_throttles(client, view, mover.added, rate)
    elif under_way > 0:
        await _clear(client, mover)
    start = time.monotonic()
    with _MovesBar(is_shown=options.shows_progress) as bar:
        await mover.run(bar.show_moves, (lambda node: set_rates(client, [node], rate)) if rate else None)
    if rate or under_way > 0:
        await _clear(client, mover, mover.met if rate else ())
    sys.stdout.write(
        f"done: {len(mover.targets)} partition(s), {mover.total_bytes:,} bytes in {time.monotonic() - start:.1f} s\n"
    )
    return False


async def _clear(client: ClusterClient, mover: Mover, throttled: Collection[int] = ()) -> None:
    """Clears the throttles of these moves, or of an earlier command whose moves go on; ``throttled`` are the brokers
    that got a rate."""
    silent = await clear_throttles(client, await client.view(), {topic for topic, _ in mover.targets}, throttled)
    if silent:
        sys.stderr.write(
            f"broker(s) {_listed(silent)} do not answer and keep their throttled rates, which hold back no topic now\n"
        )


def _sum(plan: Plan) -> str:
    copied = f"{plan.moved_bytes:,} bytes are copied, the least possible is {plan.min_bytes:,}"
    return f"{len(plan.targets)} partition(s) move; {copied}"


async def _cancel(client: ClusterClient) -> None:
    view = await client.view()
    moving = [key for key, one in view.partitions.items() if one.is_moving]
    refused = await client.reassign(dict.fromkeys(moving)) if moving else {}
    if refused:
        now = (await client.view()).partitions  # some moves may have ended by themselves
        refused = {key: why for key, why in refused.items() if key in now and now[key].is_moving}
    if refused:  # the moves that go on keep their throttles
        (topic, number), reason = next(iter(refused.items()))
        raise AdminError(f"{len(refused)} move(s) cannot be cancelled, {topic}-{number} because: {reason}")
    await clear_throttles(client, view, {topic for topic, _ in moving})
    sys.stdout.write(f"cancelled: {len(moving)} partition(s)\n")
    holding = [node for node in view.removed if any(node in one.replicas for one in view.partitions.values())]
    if holding:
        sys.stdout.write(
            f"broker(s) {_listed(holding)} stay out of service with what they hold; kafkastore cluster add-brokers "
            "brings them back\n"
        )


# ---- plans
def _plan_added(view: ClusterView, nodes: list[int]) -> Plan:
    for node in nodes:
        if node not in view.brokers:
            raise AdminError(
                f"--brokers: broker {node} is not alive; start it first (alive are {_listed(view.brokers)})"
            )
    _check_sizes(view)
    racks = {node: broker.rack for node, broker in view.brokers.items() if node in nodes or node not in view.removed}
    return plan_added(_targets(view), view.sizes(), racks)


def _plan_balanced(view: ClusterView) -> Plan:
    _check_sizes(view)
    racks = view.in_service()
    if not racks:
        raise AdminError("no broker that is alive is in service; bring some back with kafkastore cluster add-brokers")
    return plan_balanced(_targets(view), view.sizes(), racks)


def _plan_removed(view: ClusterView, nodes: list[int]) -> Plan:
    known = view.removed | view.brokers.keys() | {node for one in view.partitions.values() for node in one.replicas}
    for node in nodes:
        if node not in known:
            raise AdminError(f"--brokers: there is no broker {node}; there are {_listed(known)}")
    staying = {node: rack for node, rack in view.in_service().items() if node not in nodes}
    if not staying:
        raise AdminError(
            f"--brokers {_listed(nodes)} are all brokers that are alive and in service; leave at least one"
        )
    _check_sizes(view)
    return plan_removed(_targets(view), view.sizes(), staying, nodes)


def _plan_of_file(name: str, wanted: dict[tuple[str, int], tuple[int, ...]], view: ClusterView) -> Plan:
    check_plan(name, wanted, view)
    current, sizes = _targets(view), view.sizes()
    targets = {key: target for key, target in wanted.items() if current[key] != target}
    moved = sum(sizes[key] * len(set(target) - set(current[key])) for key, target in targets.items())
    return Plan(targets, moved, moved)


def _targets(view: ClusterView) -> dict[tuple[str, int], tuple[int, ...]]:
    """The replicas of each partition; a partition that moves counts with its target."""
    return {key: one.target for key, one in view.partitions.items()}


def _check_sizes(view: ClusterView) -> None:
    unknown = [key for key, one in view.partitions.items() if not any(node in view.held for node in one.replicas)]
    if unknown:
        raise AdminError(
            f"no replica of {names_of(unknown)} is on a broker that answers; start one of its brokers first"
        )


# ---- options
def _nodes(text: str) -> list[int]:
    found = [number_of("--brokers", item.strip(), 0, 2**31 - 1) for item in text.split(",")]
    for node in found:
        if found.count(node) > 1:
            raise AdminError(f"--brokers {text} names {node} twice; name each broker once")
    return found


def _rate(options: MoveOptions) -> int:
    return number_of("--throttle", options.throttle, 0, MAX_RATE)


def _text_of(name: str) -> str:
    try:
        with Path(name).open("rb") as file:
            return file.read(MAX_FILE_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise AdminError(f"{name} cannot be read ({reason}); give a reassignment file") from None


def _listed(nodes: object) -> str:
    return ", ".join(map(str, sorted(nodes)))  # type: ignore[call-overload]  # of any collection of ids


class _MovesBar(Bar):
    """When it is not shown, only brokers that the moves wait for are printed."""

    def __init__(self, *, is_shown: bool) -> None:
        super().__init__(is_shown=is_shown)
        self._start = time.monotonic()
        self._waits_for: tuple[int, ...] = ()

    def show_moves(self, progress: MoveProgress) -> None:
        if not self.is_shown:
            self._say_what_is_waited_for(progress.waits_for)
            return
        rate = progress.moved_bytes / max(time.monotonic() - self._start, 0.001)
        waits = f", waiting for broker {_listed(progress.waits_for)}" if progress.waits_for else ""
        figures = f"{progress.moved_bytes:,} of {progress.total_bytes:,} bytes, {rate:,.0f} B/s, "
        left = f"{progress.left} partition(s) left{waits}"
        self.show(Reading(progress.moved_bytes, progress.total_bytes, figures + left))

    def _say_what_is_waited_for(self, nodes: tuple[int, ...]) -> None:
        if nodes and nodes != self._waits_for:
            sys.stderr.write(
                f"waiting for broker(s) {_listed(nodes)}, which are not alive; start them, or end it with cancel\n"
            )
            sys.stderr.flush()
        self._waits_for = nodes
