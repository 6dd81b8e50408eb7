"""A metadata store that is damaged or gone costs no records: random damage, and what to do about it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource, ResourceType

from cluster.cluster import Cluster
from crash import metadata_damage
from crash.load import Load, assert_all_are_read_back
from crash.metadata_damage import ALONE_FILE, SETTINGS, WORLDS, produce_old, summary_of
from crash.test_refusals import assert_refuses
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, wait_until
from peer.kafkastore_broker import executable
from peer.topics import admin_client, create_topic, end_offsets, read_topic
from proof.scope import played
from proof.seeds import first_seed

CONFIGS = {
    "kept": {"retention.ms": "-1"},
    "compacted": {"cleanup.policy": "compact"},
    "month": {"retention.ms": "63072000000", "max.message.bytes": "2000000"},
}
COUNT = 50
DAMAGES = played({"alone": 4, "sqlite": 2, "zookeeper": 2}, dict.fromkeys(WORLDS, 20))
"""In `make test` each kind of damage to a file of SQLite, and a flipped bit and a cut to one of ZooKeeper."""


@pytest.fixture(autouse=True)
def _ours(against: str) -> None:
    if against != "kafkastore":
        pytest.skip("about our own metadata store")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("world", WORLDS)
def test_no_record_is_lost_whatever_file_of_the_store_is_damaged(
    tmp_path: Path, world: str, pytestconfig: pytest.Config, summary: list[str]
) -> None:
    count = int(pytestconfig.getoption("--damages") or DAMAGES[world])
    seed = int(pytestconfig.getoption("--damage-seed") or played(1, first_seed()))
    rounds = metadata_damage.run(tmp_path / world, world, count, seed)
    assert [(one.damage, one.said) for one in rounds if one.lost] == []
    summary.append(f"{count} damages to the metadata of {world}, seed {seed}: " + "; ".join(summary_of(rounds)[:3]))


# ---- a broker that is alone
def fill(broker: BrokerProcess) -> dict[str, set[bytes]]:
    """Topics with records of last month, of which the defaults would delete all but those of ``month``."""
    for topic, config in CONFIGS.items():
        create_topic(broker.bootstrap, topic, 2, config)
    return {topic: produce_old(broker.bootstrap, topic, 2, COUNT) for topic in CONFIGS}


def values_of(broker: BrokerProcess, topic: str) -> set[bytes]:
    return {message.value() or b"" for message in read_topic(broker.bootstrap, topic)}


def config_of(broker: BrokerProcess, topic: str) -> dict[str, str]:
    """The topic's own."""
    admin, resource = admin_client(broker.bootstrap), ConfigResource(ResourceType.TOPIC, topic)
    found = admin.describe_configs([resource])[resource].result(30)
    return {
        name: str(one.value) for name, one in found.items() if one.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    }


def keep_forever(broker: BrokerProcess, topic: str) -> None:
    entry = ConfigEntry("retention.ms", "-1", incremental_operation=AlterConfigOpType.SET)
    admin, resource = (
        admin_client(broker.bootstrap),
        ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry]),
    )
    admin.incremental_alter_configs([resource])[resource].result(30)


def let_retention_run(broker: BrokerProcess) -> None:
    canary = f"canary-{len(admin_client(broker.bootstrap).list_topics(timeout=30).topics)}"
    create_topic(broker.bootstrap, canary, 1, {"retention.ms": "1000"})
    produce_old(broker.bootstrap, canary, 1, 1)
    wait_until(lambda: end_offsets(broker.bootstrap, canary)[0][0] > 0, 30, "retention has run")


def metadata(command: str, broker: BrokerProcess, *arguments: str) -> subprocess.CompletedProcess[str]:
    given = [executable(), "metadata", command, *arguments, str(broker.properties_file)]
    return subprocess.run(given, capture_output=True, text=True, check=False, timeout=60)


def lose(broker: BrokerProcess) -> None:
    for path in broker.log_dir.glob(ALONE_FILE + "*"):
        path.unlink()


def test_store_that_is_gone_refuses_the_start_and_its_topics_come_back_as_they_were_once_the_loss_is_accepted(
    broker_factory: BrokerFactory,
) -> None:
    broker = broker_factory(overrides=SETTINGS)
    values = fill(broker)
    create_topic(broker.bootstrap, "plain", 1)
    values["plain"] = produce_old(broker.bootstrap, "plain", 1, COUNT, age_ms=0)
    broker.kill()
    lose(broker)
    for _ in range(2):  # refused again: nothing was made meanwhile
        broker.launch()
        assert_refuses(broker, ALONE_FILE, "is not there", "kafkastore metadata restore", "accept-loss")
        broker.kill()
    assert not (broker.log_dir / ALONE_FILE).exists()
    assert metadata("accept-loss", broker).returncode == 0
    for _ in range(2):  # durable: the second start does not adopt any more
        broker.start()
        let_retention_run(broker)
        assert {topic: values_of(broker, topic) for topic in values} == values
        assert {topic: config_of(broker, topic) for topic in CONFIGS} == CONFIGS
        held = {"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"}
        assert config_of(broker, "plain") == held
        broker.kill()
    assert "topics were found in the log directories alone" in broker.output()


def test_configuration_that_was_changed_after_the_backup_is_found_beside_the_logs(
    broker_factory: BrokerFactory, tmp_path: Path
) -> None:
    """A backup from before ``retention.ms=-1`` was set would have everything deleted."""
    broker = broker_factory(overrides=SETTINGS)
    create_topic(broker.bootstrap, "t", 1)
    backup = tmp_path / "backup"
    assert metadata("backup", broker, str(backup)).returncode == 0
    keep_forever(broker, "t")
    values = produce_old(broker.bootstrap, "t", 1, COUNT)
    broker.kill()
    assert metadata("restore", broker, str(backup)).returncode == 0
    broker.start()
    let_retention_run(broker)
    assert values_of(broker, "t") == values
    assert config_of(broker, "t") == {"retention.ms": "-1"}


@pytest.mark.timeout(180)
def test_backup_made_under_load_restores_its_topics_and_later_topics_keep_their_records(
    broker_factory: BrokerFactory, tmp_path: Path
) -> None:
    broker = broker_factory(overrides=SETTINGS)
    values = fill(broker)
    create_topic(broker.bootstrap, "load", 2)
    load = Load(broker, "load", "load", 2)
    backup = tmp_path / "backup"
    made: list[str] = []
    command = subprocess.Popen([executable(), "metadata", "backup", str(backup), str(broker.properties_file)])
    while command.poll() is None:
        load.run_until_acknowledged(50)
        made.append(create_topic(broker.bootstrap, f"meanwhile-{len(made)}", 1))
        values[made[-1]] = produce_old(broker.bootstrap, made[-1], 1, 1, age_ms=0)
    assert command.returncode == 0
    create_topic(broker.bootstrap, "later")
    keep_forever(broker, "later")
    values["later"] = produce_old(broker.bootstrap, "later", 1, COUNT)
    load.finish()
    ids = topic_ids(broker)
    refused = metadata("restore", broker, str(backup))
    assert refused.returncode == 1
    assert "in use by a running broker" in refused.stderr
    broker.kill()
    lose(broker)
    for wrong in (broker.properties_file, tmp_path / "none"):
        refused = metadata("restore", broker, str(wrong))
        assert refused.returncode == 1
        assert f"{wrong} is no backup of a metadata store" in refused.stderr
    assert metadata("restore", broker, str(backup)).returncode == 0
    assert metadata("check", broker).returncode == 0
    broker.start()
    let_retention_run(broker)
    found = topic_ids(broker)
    assert {name: found.get(name) for name in ids} == ids, "adopted topics have their ids too"
    assert {topic: values_of(broker, topic) for topic in values} == values
    assert {topic: config_of(broker, topic) for topic in CONFIGS} == CONFIGS
    assert_all_are_read_back(broker, "load", [load])


def topic_ids(broker: BrokerProcess) -> dict[str, str]:
    from confluent_kafka import TopicCollection

    admin = admin_client(broker.bootstrap)
    names = [name for name in admin.list_topics(timeout=30).topics if "canary" not in name]
    described = admin.describe_topics(TopicCollection(names))
    return {name: str(one.result(30).topic_id) for name, one in described.items()}


def test_older_copy_of_the_whole_disk_of_the_store_is_refused_by_the_log_directories(
    broker_factory: BrokerFactory, tmp_path: Path
) -> None:
    """The mark beside the file goes back with it; the marks in the log directories do not. Attempts to start do not
    wear that out."""
    store = tmp_path / "store"
    broker = broker_factory(overrides={**SETTINGS, "kafkastore.metadata.path": str(store / "metadata.sqlite")})
    broker.stop()
    shutil.copytree(store, tmp_path / "older")
    broker.start()
    create_topic(broker.bootstrap, "t")
    broker.stop()
    shutil.rmtree(store)
    shutil.copytree(tmp_path / "older", store)
    for _ in range(3):
        broker.launch()
        assert_refuses(broker, str(store), "has lost something", str(broker.log_dir))
        broker.kill()
    shutil.rmtree(store)
    broker.launch()
    assert_refuses(broker, str(store), "is not there", str(broker.log_dir))


# ---- a cluster
@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path / "cluster", "zookeeper", overrides=SETTINGS).running() as made:
        yield made


def test_zookeeper_that_was_wiped_refuses_each_broker_until_its_operator_accepts_the_loss(cluster: Cluster) -> None:
    cluster.create("t")
    values = produce_old(cluster.bootstrap, "t", 1, COUNT, age_ms=0)
    assert set(cluster.stop()) == {0}
    assert cluster.zookeeper is not None
    cluster.zookeeper.kill()
    shutil.rmtree(cluster.zookeeper.folder / "data")
    cluster.zookeeper.start()
    for broker in cluster.brokers:
        broker.launch()
    for broker in cluster.brokers:
        assert_refuses(broker, "zookeeper.connect=", "is new", "accept-loss")
        broker.kill()
        assert metadata("accept-loss", broker).returncode == 0
    cluster.start_brokers()
    for broker in cluster.brokers:
        (stray,) = broker.log_dir.glob("t-0*-stray")
        content = b"".join(path.read_bytes() for path in stray.glob("*.log"))
        assert all(value in content for value in values)
