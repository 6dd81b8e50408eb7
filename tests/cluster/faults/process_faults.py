"""Brokers that are killed, stopped and paused (H1, H4, H5, H19, H20)."""

from __future__ import annotations

import time

from cluster.cluster import SESSION_MS
from cluster.faults.trial import ALL, Trial
from peer.broker_process import wait_until

SESSION_S = SESSION_MS / 1000
RESUME_LIMIT_S = SESSION_S + 4
NEW_TOPIC_LIMIT_S = 15.0


def leader_is_killed(trial: Trial) -> None:
    """kill -9 of a leader under load."""
    dead = trial.leader()
    at = time.monotonic()
    trial.cluster.broker(dead).kill()
    trial.resumes(ALL, at, RESUME_LIMIT_S)


def all_are_killed(trial: Trial) -> None:
    """kill -9 of all three brokers at once; then all are started."""
    for broker in trial.cluster.brokers:
        assert broker.process is not None
        broker.process.kill()
    for broker in trial.cluster.brokers:
        broker.kill()
    at = time.monotonic()
    trial.cluster.start_brokers()
    trial.resumes(ALL, at, 15.0)


def leader_is_stopped(trial: Trial) -> None:
    """SIGTERM of a leader: its leaderships move before the broker ends, so no client waits long."""
    leaving = trial.cluster.broker(trial.leader())
    at = time.monotonic()
    code = leaving.stop()
    trial.expect(code == 0, f"it ended with {code}")
    trial.wait_for_acks(500)
    trial.outcome.resumed_after_s = trial.goes_on(at, "while the leader left")


def leader_is_paused(trial: Trial) -> None:
    """SIGSTOP of a leader past its session, then SIGCONT: the zombie also gets records that no other broker has (H4,
    H5)."""
    zombie = trial.leader()
    faithful = trial.faithful_writer(zombie)
    at = time.monotonic()
    trial.cluster.pause(zombie)
    trial.resumes(ALL, at, RESUME_LIMIT_S)
    faithful.send()
    wait_until(lambda: time.monotonic() > at + 2 * SESSION_S, 2 * SESSION_S + 1, "it hangs for two sessions")
    trial.cluster.go_on(zombie)
    trial.wait_for_acks(1000)


def follower_behind_the_high_watermark(trial: Trial) -> None:
    """A follower is killed right after acknowledgements, so that its high watermark lags; the leader is killed as soon
    as the follower is in sync again, and the follower may lead: leader epochs decide where it truncates its log
    (KIP-101 scenario 1, H1)."""
    cluster = trial.cluster
    leader = trial.leader()
    follower = cluster.others(leader)[trial.number % 2]
    trial.wait_for_acks(50)
    cluster.broker(follower).kill()
    cluster.broker(follower).start()
    wait_until(lambda: follower in cluster.partition(trial.topic).isrs, 30, "the follower is in sync again")
    leader = trial.leader()
    at = time.monotonic()
    cluster.broker(leader).kill()
    trial.resumes(ALL, at, RESUME_LIMIT_S)


def controller_is_paused(trial: Trial) -> None:
    """SIGSTOP of the controller for two sessions, then SIGCONT: only one controller is obeyed, and it acts within 15 s
    (H19)."""
    cluster = trial.cluster
    zombie = cluster.controller()
    others = [cluster.broker(node) for node in cluster.others(zombie)]
    at = time.monotonic()
    cluster.pause(zombie)
    created = cluster.can_create(f"{trial.topic}-meanwhile", others, NEW_TOPIC_LIMIT_S)
    trial.expect(created, f"no topic could be created within {NEW_TOPIC_LIMIT_S:g} s without the controller")
    wait_until(lambda: time.monotonic() > at + 2 * SESSION_S, 2 * SESSION_S + 1, "it hangs for two sessions")
    cluster.go_on(zombie)
    created = cluster.can_create(f"{trial.topic}-after", cluster.brokers, NEW_TOPIC_LIMIT_S)
    trial.expect(created, f"no topic could be created within {NEW_TOPIC_LIMIT_S:g} s after the controller came back")
    wait_until(
        lambda: len({cluster.controller(broker) for broker in cluster.brokers}) == 1, 15, "all know one controller"
    )
    trial.resumes(ALL, at, RESUME_LIMIT_S)


def follower_leaves_while_it_comes_in_sync(trial: Trial) -> None:
    """SIGTERM of a follower while the leader adds it to the in-sync set: a broker that is gone does not stay in sync
    (H20, KIP-841)."""
    cluster = trial.cluster
    leader = trial.leader()
    follower = cluster.others(leader)[trial.number % 2]
    broker = cluster.broker(follower)
    broker.kill()
    broker.launch()
    broker.wait_until_ready()
    delay = time.monotonic() + 0.02 * (trial.number % 20)
    wait_until(lambda: time.monotonic() >= delay, 1, "a moment that differs between trials")
    at = time.monotonic()
    code = broker.stop()
    trial.expect(code == 0, f"it ended with {code}")

    def is_out() -> bool:
        found = cluster.admin().list_topics(trial.topic, timeout=10).topics[trial.topic].partitions.values()
        return all(follower not in partition.isrs for partition in found)

    trial.attempt("who is gone leaves the in-sync sets", lambda: wait_until(is_out, SESSION_S + 2, "it is out of sync"))
    trial.resumes(ALL, at, RESUME_LIMIT_S)
