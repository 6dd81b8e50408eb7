"""The rules of leader election: the next leader of a partition, and its next in-sync and eligible sets. Pure
functions: no I/O, no clock, no memory (docs/internals/cluster.md).

``usable`` are the replicas that may lead now: on a live broker that is not shutting down, in a log directory that
works. ``min_isr`` is the topic's min.insync.replicas. Each rule gives the new state, or None when nothing changes.

The two sets (KIP-966), after any change:

- ``isr`` at or above the minimum (or all replicas, when there are fewer): ``elr`` is empty. All committed records are
  on the members of the isr.
- ``isr`` below the minimum: ``elr`` has the replicas that were in either set and are not in ``isr``. Nothing is
  committed while the isr is below the minimum, so these replicas still have all committed records.
- A broker that came back without a clean shutdown is in neither set, as long as another broker is in one of them. When
  it is the only one left (the *last member*), the one member is the broker with the longest log among those that came
  back uncleanly since the partition lost its leader: their logs are all prefixes of one log, so the longest log lacks
  no record that another has.

The leader epoch rises with each change of leader, also when the partition loses its leader, and not with a change of
the sets alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.metadata.image import NO_LEADER
from kafkastore.metadata.leadership import Leadership

if TYPE_CHECKING:
    from collections.abc import Container, Sequence


def elect_first(replicas: Sequence[int], usable: Container[int]) -> Leadership | None:
    """The first state of a new partition: every usable replica is in sync, since there are no records yet. None when no
    replica is usable."""
    isr = tuple(replica for replica in replicas if replica in usable)
    return Leadership(isr[0], 0, isr) if isr else None


def after_loss(
    state: Leadership,
    replicas: Sequence[int],
    usable: Container[int],
    gone: Container[int],
    min_isr: int,
    *,
    is_unclean_allowed: bool,
) -> Leadership | None:
    """The state after the replicas in ``gone`` went offline. They leave the isr, unless all its members are gone: then
    the isr stays as it is, since nothing more is committed. A partition without a leader gets one, if a replica can
    lead."""
    trusted = state
    if state.elr and len(state.isr) >= min(min_isr, len(replicas)):  # the minimum was lowered: more may be committed
        trusted = state._replace(elr=())
    changed = _without(trusted, replicas, gone, min_isr)
    if not changed.has_leader:
        changed = _elect(changed, replicas, usable, min_isr, is_unclean_allowed=is_unclean_allowed)
    if changed.leader_epoch > state.leader_epoch:  # the states between were never published: one epoch is enough
        changed = changed._replace(leader_epoch=state.leader_epoch + 1)
    return changed if changed != state else None


def _without(state: Leadership, replicas: Sequence[int], gone: Container[int], min_isr: int) -> Leadership:
    isr = tuple(replica for replica in state.isr if replica not in gone)
    changed = state
    if isr and isr != state.isr:
        isr, elr = _sets(state, isr, replicas, min_isr)
        changed = state._replace(isr=isr, elr=elr)
    if state.has_leader and state.leader in gone:
        changed = _led_by(changed, NO_LEADER)
    return changed


def _elect(
    state: Leadership, replicas: Sequence[int], usable: Container[int], min_isr: int, *, is_unclean_allowed: bool
) -> Leadership:
    """Elects the first usable replica of the isr in assignment order; else the first usable replica of the elr; else,
    if unclean elections are allowed, the first usable replica; else none."""
    for replica in replicas:
        if replica in usable and replica in state.isr:
            members = tuple(member for member in state.isr if member in usable)
            isr, elr = _sets(state, members, replicas, min_isr)
            return _led_by(state, replica)._replace(isr=isr, elr=elr)
    for replica in replicas:
        if replica in usable and replica in state.elr:
            isr, elr = _sets(state, (replica,), replicas, min_isr)
            return _led_by(state, replica)._replace(isr=isr, elr=elr)
    for replica in replicas if is_unclean_allowed else ():
        if replica in usable:
            return _led_by(state, replica)._replace(isr=(replica,), elr=(), is_recovering=True)
    return state


def after_unclean_restart(
    state: Leadership, broker: int, replicas: Container[int], log_end: int = 0, *, is_led: bool = True
) -> Leadership | None:
    """The state after ``broker`` came back without a clean shutdown, its log ending at ``log_end``: records that were
    not synced may be lost. The broker leads no longer; if it is elected again (:func:`after_loss`), then under a new
    epoch, since it appends other records at the offsets of the lost ones. ``is_led``: another live broker leads the
    partition and may commit more records, so ``log_end`` is not noted for a later choice of the last member."""
    isr = tuple(replica for replica in state.isr if replica != broker)
    elr = tuple(replica for replica in state.elr if replica != broker)
    changed = state
    known = dict(state.restarted)
    if not is_led and (broker in known or broker in (*state.isr, *state.elr)):
        ends = {node: end for node, end in known.items() if node in replicas} | {broker: log_end}
        if not isr and not elr:
            isr = (max(ends, key=lambda node: (ends[node], node == broker)),)
        changed = state._replace(restarted=tuple(sorted(ends.items())))
    if isr or elr:
        changed = changed._replace(isr=isr, elr=elr)
    if state.leader == broker:
        changed = _led_by(changed, NO_LEADER)
    return changed if changed != state else None


def elect_preferred(state: Leadership, replicas: Sequence[int], usable: Container[int]) -> Leadership | None:
    """Elects the first assigned replica, if it is usable and in sync. None when it leads already or cannot lead."""
    preferred = replicas[0]
    if state.leader == preferred or preferred not in usable or preferred not in state.isr:
        return None
    return _led_by(state, preferred)


def leave_for_shutdown(
    state: Leadership, replicas: Sequence[int], leaving: int, usable: Container[int], min_isr: int
) -> Leadership | None:
    """The state after ``leaving`` was asked to stop: its leadership goes to another usable in-sync replica, and it
    leaves the isr unless it is the last member. While no other replica can lead, it goes on to lead."""
    if leaving not in state.isr and state.leader != leaving:
        return None
    changed = state
    if state.leader == leaving:
        able = [replica for replica in replicas if replica != leaving and replica in usable and replica in state.isr]
        if not able:
            return None
        changed = _led_by(state, able[0])
    rest = tuple(replica for replica in state.isr if replica != leaving)
    if not rest:
        return None
    isr, elr = _sets(state, rest, replicas, min_isr)
    return changed._replace(isr=isr, elr=elr)


def elect_reassigned(state: Leadership, targets: Sequence[int], usable: Container[int]) -> Leadership | None:
    """The state at the end of a reassignment: the leader goes on under a new epoch, if it is a usable
    target; else the first usable in-sync target leads. None when no target can lead: the reassignment waits."""
    if state.leader in targets and state.leader in usable:
        return _led_by(state, state.leader)
    for replica in targets:
        if replica in usable and replica in state.isr:
            return _led_by(state, replica)
    return None


def complete_reassignment(state: Leadership, targets: Sequence[int], usable: Container[int]) -> Leadership | None:
    """The state that completes a reassignment, with only ``targets`` in the sets. None while a target is not in sync,
    or no target can lead."""
    if not set(targets).issubset(state.isr):
        return None
    changed = elect_reassigned(state, targets, usable)
    return changed and changed._replace(isr=tuple(member for member in state.isr if member in targets), elr=())


def drop_replicas(
    state: Leadership, replicas: Sequence[int], usable: Container[int], min_isr: int
) -> Leadership | None:
    """The state after all replicas but ``replicas`` are removed from a partition that moves. None when they must not be
    removed: when committed records might be on the removed replicas alone, or on fewer replicas than the minimum, or
    when no remaining replica could lead."""
    kept = tuple(member for member in state.isr if member in replicas)
    if len(kept) < min(min_isr, len(replicas), len(state.isr)):
        return None
    isr, elr = _sets(state, kept, replicas, min_isr)
    if not isr and not elr:
        return None
    changed = state._replace(isr=isr, elr=elr)
    if state.leader in replicas or not state.has_leader:
        return _led_by(changed, state.leader)
    able = [replica for replica in replicas if replica in usable and replica in isr]
    return _led_by(changed, able[0]) if able else None


def with_isr(
    state: Leadership, isr: Sequence[int], replicas: Sequence[int], min_isr: int, *, is_recovering: bool
) -> Leadership:
    """The state that the leader proposed; the proposal is checked already."""
    members, elr = _sets(state, tuple(isr), replicas, min_isr)
    return state._replace(isr=members, elr=elr, is_recovering=is_recovering)


# ---- inside
def _led_by(state: Leadership, leader: int) -> Leadership:
    restarted = state.restarted if leader == NO_LEADER else ()  # with a leader, the noted log ends are stale
    return state._replace(leader=leader, leader_epoch=state.leader_epoch + 1, restarted=restarted)


def _sets(
    state: Leadership, isr: tuple[int, ...], replicas: Sequence[int], min_isr: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns ``isr`` and the elr that belongs to it."""
    if len(isr) >= min(min_isr, len(replicas)):
        return isr, ()
    had = (*state.isr, *state.elr)
    return isr, tuple(replica for replica in replicas if replica in had and replica not in isr)
