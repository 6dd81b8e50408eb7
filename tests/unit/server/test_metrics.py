"""What the control plane tells of itself for the metrics (issue 13, item 8)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from world import run, running_broker

from kafkastore.metadata.image import NO_LEADER, PartitionState, TopicImage
from kafkastore.server.metrics import BEAT_S, LoopDelays, cluster_figures

if TYPE_CHECKING:
    from pathlib import Path

    from fake_engine import Engine

ID = bytes(range(16))


def test_active_controller_counts_topics_partitions_those_without_a_leader_and_those_led_by_another(
    tmp_path: Path,
) -> None:
    states = [
        PartitionState(leader, 0, 0, (1, 2), (1, 2))
        for leader in (1, 1, 2, NO_LEADER)  # led by the preferred replica, the same, led by the other, by nobody
    ]

    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            broker.services.image.put_topic(TopicImage("t", ID, states, {}))
            found = await cluster_figures(broker.observed())
            broker.services.image.remove_topic("t")
        assert found["ActiveControllerCount"] == 1
        assert (found["GlobalTopicCount"], found["GlobalPartitionCount"]) == (1, 4)
        assert (found["OfflinePartitionsCount"], found["PreferredReplicaImbalanceCount"]) == (1, 2)
        assert (found["brokers"], found["OfflineReplicaCount"], found["OfflineLogDirectoryCount"]) == (1, 0, 0)

    run(body)


def test_replicas_in_a_failed_log_directory_are_offline(tmp_path: Path) -> None:
    directories = [str(tmp_path / name) for name in ("one", "two")]

    def with_logs(engine: Engine) -> None:
        for number in range(3):
            engine.add_log("t", number, ID, directories[number % 2])

    async def body() -> None:
        async with running_broker(tmp_path, with_logs, log__dirs=",".join(directories)) as broker:
            services = broker.services
            assert (await cluster_figures(broker.observed()))["OfflineReplicaCount"] == 0
            services.replica_manager.take_offline(broker.log_manager.fail(directories[0], "it is broken"))
            found = await cluster_figures(broker.observed())
            assert (found["OfflineReplicaCount"], found["OfflineLogDirectoryCount"]) == (2, 1)

    run(body)


def test_longest_delay_of_the_loop_is_kept_for_one_to_two_minutes() -> None:
    clock, due = [0.0], list[tuple[float, Any, float]]()
    loop: Any = SimpleNamespace(
        time=lambda: clock[0],
        call_at=lambda at, call, given: due.append((at, call, given)) or SimpleNamespace(cancel=due.clear),
    )

    def beat(late_s: float = 0.0) -> None:
        at, call, given = due.pop()
        clock[0] = at + late_s
        call(given)

    delays = LoopDelays(loop)
    delays.start()
    beat(late_s=0.3)
    assert round(delays.longest_s(), 6) == 0.3
    beat(late_s=0.1)
    assert round(delays.longest_s(), 6) == 0.3
    for _ in range(int(delays.KEPT_S / BEAT_S)):
        beat()
    assert round(delays.longest_s(), 6) == 0.3, "of the minute before"
    for _ in range(int(delays.KEPT_S / BEAT_S) + 2):
        beat()
    assert delays.longest_s() < 0.01
    delays.stop()
    assert due == []
