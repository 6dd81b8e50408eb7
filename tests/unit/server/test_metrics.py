"""The control plane's own figures for the metrics."""

from __future__ import annotations

from pathlib import Path

from stepped import Engine
from world import run, running_broker

from kafkastore.metadata.image import NO_LEADER, PartitionState, TopicImage
from kafkastore.server.loop_lag import LoopLag
from kafkastore.server.metrics import cluster_figures, loop_figures

ID = bytes(range(16))


def test_active_controller_counts_topics_partitions_those_without_a_leader_and_those_led_by_another(
    tmp_path: Path,
) -> None:
    states = [
        PartitionState(leader, 0, 0, (1, 2), (1, 2))
        for leader in (1, 1, 2, NO_LEADER)  # leader: the preferred replica, the same, the other replica, none
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


def test_figures_of_the_loop_are_those_of_its_passes() -> None:
    lag = LoopLag(lambda: 0.0)
    lag.begin()
    for pass_s in (0.0005, 0.03, 9.0):
        lag.end_pass(0.0, pass_s)
    found = loop_figures(lag)
    assert (found.longest_s, found.sum_s, sum(found.counts)) == (9.0, 9.0305, 3)
    assert len(found.counts) == len(found.bounds_s) + 1
