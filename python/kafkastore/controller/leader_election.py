"""Who leads next, and what the in-sync and eligible sets become. Pure rules: no I/O, no clock, no memory
(docs/cluster.md).

``usable`` are the replicas that may lead now: on a live broker that is not shutting down, in a log directory that
works. ``min_isr`` is the topic's min.insync.replicas. Each rule gives the new state, or None when nothing changes.

The two sets (KIP-966), after any change:

- ``isr`` at or above the minimum (or all replicas, when there are fewer): ``elr`` is empty. What was committed is on
  the isr.
- ``isr`` below it: whoever was in either set and is not in ``isr`` is in ``elr``. Nothing is committed while it is so,
  which is why they stay eligible.
- A broker that came back without a clean shutdown is in neither, while anybody else is in one of them. When it is all
  that is left (the *last member*), whoever has the longest log of all that came back so since there was no leader is
  the one member: each has a part of one log, from its start, so that one lacks nothing that another has.

The leader epoch rises with each change of leader, to none included, and not with a change of the sets alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.metadata.image import NO_LEADER
from kafkastore.metadata.leadership import Leadership

if TYPE_CHECKING:
    from collections.abc import Container, Sequence


def elect_first(replicas: Sequence[int], usable: Container[int]) -> Leadership | None:
    """A new partition: every replica that can is in sync, since there is nothing to have. None when no replica can."""
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
    """Replicas in ``gone`` are not there. They leave the isr, unless all of it is gone: then it stays as it is, since
    nothing more is committed. A partition without a leader gets one, if one can be had."""
    trusted = state
    if state.elr and len(state.isr) >= min(min_isr, len(replicas)):  # the minimum was lowered: more may be committed
        trusted = state._replace(elr=())
    changed = _without(trusted, replicas, gone, min_isr)
    if not changed.has_leader:
        changed = _elect(changed, replicas, usable, min_isr, is_unclean_allowed=is_unclean_allowed)
    if changed.leader_epoch > state.leader_epoch:  # by how many steps nobody has seen
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
    """The first of the assigned replicas that can and is in sync, else eligible, else, if that is allowed, any that
    can; else nobody."""
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
    """``broker`` came back without a clean shutdown, its log ending at ``log_end``: its unsynced tail may be gone.
    Leads no longer, and under a new epoch if it is elected again (:func:`after_loss`): what it appends then is not what
    it had at the same offsets. ``is_led``: by another broker that is alive, so that what there is now does not tell of
    what is committed later."""
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
    """The first assigned replica, if it can and is in sync."""
    preferred = replicas[0]
    if state.leader == preferred or preferred not in usable or preferred not in state.isr:
        return None
    return _led_by(state, preferred)


def leave_for_shutdown(
    state: Leadership, replicas: Sequence[int], leaving: int, usable: Container[int], min_isr: int
) -> Leadership | None:
    """``leaving`` is about to stop: its leadership goes to another in-sync replica, if one can, and it leaves the isr,
    if it is not the last member. While nobody else can lead it goes on to lead."""
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
    """At the end of a reassignment (spec R2.5): the leader, if it is one of ``targets`` and can, goes on under a new
    epoch; else the first target that can and is in sync. None when none can: the reassignment waits."""
    if state.leader in targets and state.leader in usable:
        return _led_by(state, state.leader)
    for replica in targets:
        if replica in usable and replica in state.isr:
            return _led_by(state, replica)
    return None


def complete_reassignment(state: Leadership, targets: Sequence[int], usable: Container[int]) -> Leadership | None:
    """The reassignment is over, if all of ``targets`` are in sync and one of them can lead: nobody else is in a set
    then."""
    if not set(targets).issubset(state.isr):
        return None
    changed = elect_reassigned(state, targets, usable)
    return changed and changed._replace(isr=tuple(member for member in state.isr if member in targets), elr=())


def drop_replicas(
    state: Leadership, replicas: Sequence[int], usable: Container[int], min_isr: int
) -> Leadership | None:
    """All but ``replicas`` are taken from the partition while it moves. None when what was committed might be on the
    others alone, or on fewer than the minimum because of it, or when nobody who stays could lead: it must not be done
    then."""
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
    """What the leader proposed, which is checked already."""
    members, elr = _sets(state, tuple(isr), replicas, min_isr)
    return state._replace(isr=members, elr=elr, is_recovering=is_recovering)


# ---- inside
def _led_by(state: Leadership, leader: int) -> Leadership:
    restarted = state.restarted if leader == NO_LEADER else ()  # from here on logs grow and are cut
    return state._replace(leader=leader, leader_epoch=state.leader_epoch + 1, restarted=restarted)


def _sets(
    state: Leadership, isr: tuple[int, ...], replicas: Sequence[int], min_isr: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """``isr`` and the elr that goes with it."""
    if len(isr) >= min(min_isr, len(replicas)):
        return isr, ()
    had = (*state.isr, *state.elr)
    return isr, tuple(replica for replica in replicas if replica in had and replica not in isr)
