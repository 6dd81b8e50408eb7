"""``kafkastore cluster`` without a cluster: files of new brokers, and wrong input as one sentence."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from kafkastore.cli import main as cli
from kafkastore.config import BrokerConfig

SERVER = ("--bootstrap-server", "127.0.0.1:1")


def test_files_of_a_cluster_on_one_host_differ_where_they_must(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    given = ("--brokers", "3", "--first-id", "4", "--racks", "a,b,a", "--log-dirs", "d1,d2")
    assert cli.main(["cluster", "create", "--folder", str(folder), *given]) == 0
    configs = [BrokerConfig.load(str(folder / f"broker-{node}" / "server.properties")) for node in (4, 5, 6)]
    assert [config.node_id for config in configs] == [4, 5, 6]
    assert [config.listeners[0].port for config in configs] == [9092, 9093, 9094]
    assert [config.rack for config in configs] == ["a", "b", "a"]
    assert configs[1].log_dirs == [str(folder / "broker-5" / name) for name in ("d1", "d2")]
    assert {config.get("kafkastore.metadata.path") for config in configs} == {str(folder / "metadata.sqlite")}
    assert all(config.is_member for config in configs)
    assert [config.get_int("min.insync.replicas") for config in configs] == [2, 2, 2]


def test_brokers_on_several_hosts_share_a_zookeeper_and_have_their_own_ports(tmp_path: Path) -> None:
    given = ("--brokers", "3", "--hosts", "one,two,one", "--zookeeper", "zk:2181/k")
    assert cli.main(["cluster", "create", "--folder", str(tmp_path), *given]) == 0
    texts = [(tmp_path / f"broker-{node}" / "server.properties").read_text() for node in (1, 2, 3)]
    for text, address in zip(texts, ("one:9092", "two:9092", "one:9093"), strict=True):
        assert f"listeners=PLAINTEXT://{address},REPLICATION://{address.replace(':9', ':10')}\n" in text
        assert "zookeeper.connect=zk:2181/k\n" in text


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["status", "--bootstrap-server", "x:y"], "'x:y' is no server; give host:port"),
        (["status", *SERVER], "no broker answers (127.0.0.1:1: "),
        (["add-brokers", *SERVER, "--brokers", "1,x"], "--brokers is x; give a whole number from 0"),
        (["add-brokers", *SERVER, "--brokers", ""], "--brokers is ; give a whole number"),
        (["remove-brokers", *SERVER, "--brokers", "1,1"], "--brokers 1,1 names 1 twice"),
        (
            ["add-brokers", *SERVER, "--brokers", "1", "--throttle", "-1"],
            "--throttle is -1; give a whole number from 0",
        ),
        (["reassign", *SERVER, "--reassignment-json-file", "/no/such"], "/no/such cannot be read (No such file"),
        (["create", "--folder", "{}", "--brokers", "0"], "--brokers is 0; give a whole number from 1 to 1000"),
        (["create", "--folder", "{}", "--brokers", "2", "--racks", "a"], "--racks a names 1 and there are 2 brokers"),
        (
            ["create", "--folder", "{}", "--brokers", "2", "--hosts", "a,b"],
            "are several and an SQLite file is shared on one",
        ),
        (["create", "--folder", "{}", "--brokers", "2", "--first-port", "65535"], "--first-port 65535 leaves no port"),
        (["create", "--folder", "{}", "--brokers", "1", "--log-dirs", "a,,b"], "has an empty item"),
        (["create", "--folder", "{}", "--brokers", "1", "--hosts", "a b"], "has an empty item or one with a blank"),
        (["create", "--folder", "{},x", "--brokers", "1"], ",x has a comma, which separates directories in log.dirs"),
        (["create", "--folder", "{}", "--brokers", "1", "--zookeeper", "zk:x"], "Invalid value zk:x for configuration"),
    ],
)
def test_wrong_input_is_one_sentence_and_leaves_nothing(
    given: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "c"
    assert cli.main(["cluster", *(item.replace("{}", str(folder)) for item in given)]) == 1
    told = capsys.readouterr()
    assert not told.out
    assert told.err.startswith(f"kafkastore cluster {given[0]}: ")
    assert told.err.count("\n") == 1
    assert sentence in told.err
    assert not folder.exists()


def test_brokers_for_a_cluster_that_is_there_keep_its_replication(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With min.insync.replicas=1 one of three brokers would acknowledge records that only it has."""
    arguments = ["cluster", "create", "--folder", str(tmp_path), "--brokers", "3"]
    assert cli.main(arguments) == 0
    more = ["cluster", "create", "--folder", str(tmp_path), "--brokers", "1", "--first-id", "4"]
    assert cli.main(more) == 1
    assert (
        "broker-1 has listeners=PLAINTEXT://127.0.0.1:9092,REPLICATION://127.0.0.1:10092, and"
        in capsys.readouterr().err
    )
    more += ["--first-port", "9095"]
    assert cli.main([*more, "--zookeeper", "zk:2181"]) == 1
    assert "which is another cluster; give --zookeeper as for the first" in capsys.readouterr().err
    assert cli.main(more) == 0
    config = BrokerConfig.load(str(tmp_path / "broker-4" / "server.properties"))
    factors = ("default.replication.factor", "offsets.topic.replication.factor")
    factors += ("transaction.state.log.replication.factor",)
    assert [config.get_int(key) for key in factors] == [3, 3, 3]
    least = ("min.insync.replicas", "transaction.state.log.min.isr")
    assert [config.get_int(key) for key in least] == [2, 2]


def secret_of(config: BrokerConfig) -> str:
    config.load_secret()
    assert config.inter_broker_secret is not None
    return config.inter_broker_secret.text


def test_brokers_have_a_listener_of_their_own_and_share_a_secret(tmp_path: Path) -> None:
    def create(*given: str) -> None:
        assert cli.main(["cluster", "create", "--folder", str(tmp_path / "c"), "--brokers", "2", *given]) == 0

    create()
    create("--first-id", "3", "--first-port", "9192", "--first-broker-port", "9292")
    configs = [BrokerConfig.load(str(tmp_path / f"c/broker-{node}/server.properties")) for node in (1, 2, 3, 4)]
    assert [config.inter_broker_listener for config in configs] == ["REPLICATION"] * 4
    assert [config.listeners[1].port for config in configs] == [10092, 10093, 9292, 9293]
    texts = {secret_of(config) for config in configs}
    assert len(texts) == 1
    assert len(texts.pop()) >= 40
    modes = {(tmp_path / f"c/broker-{node}/inter-broker.secret").stat().st_mode & 0o777 for node in (1, 2, 3, 4)}
    assert modes == {0o600}
    assert cli.main(["cluster", "create", "--folder", str(tmp_path / "d"), "--brokers", "1"]) == 0
    assert secret_of(BrokerConfig.load(str(tmp_path / "d/broker-1/server.properties"))) != secret_of(configs[0])


def test_files_may_be_for_another_place_and_nobody_else_may_change_them(tmp_path: Path) -> None:
    def create(*given: str) -> None:
        told = ["--installed-at", "/opt/kafkastore", "--hosts", "a", "--zookeeper", "z:2181"]
        assert cli.main(["cluster", "create", "--folder", str(tmp_path / "c"), "--brokers", "1", *told, *given]) == 0

    before = os.umask(0)
    try:
        create()
        create("--first-id", "2", "--first-port", "9192")
    finally:
        os.umask(before)
    texts = [(tmp_path / f"c/broker-{node}/inter-broker.secret").read_text() for node in (1, 2)]
    assert texts[0] == texts[1]
    for node in (1, 2):
        file = tmp_path / f"c/broker-{node}/server.properties"
        config = BrokerConfig.load(str(file))
        assert config.log_dirs == [f"/opt/kafkastore/broker-{node}/data"]
        assert config.get("kafkastore.inter.broker.secret.file") == f"/opt/kafkastore/broker-{node}/inter-broker.secret"
        assert str(tmp_path) not in file.read_text()
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o644, 0o755)


def test_brokers_for_a_cluster_without_a_secret_are_made_as_its_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "broker-1"
    home.mkdir()
    store = f"kafkastore.metadata.path={tmp_path}/metadata.sqlite"
    (home / "server.properties").write_text(f"node.id=1\nlisteners=PLAINTEXT://127.0.0.1:9092\n{store}\n")
    more = ["cluster", "create", "--folder", str(tmp_path), "--brokers", "1", "--first-id", "2", "--first-port", "9093"]
    assert cli.main(more) == 0
    assert "have no secret, so the new ones get none" in capsys.readouterr().err
    config = BrokerConfig.load(str(tmp_path / "broker-2" / "server.properties"))
    assert [repr(listener) for listener in config.listeners] == ["PLAINTEXT://127.0.0.1:9093"]
    assert config.get("kafkastore.inter.broker.secret.file") is None
    assert not (tmp_path / "broker-2" / "inter-broker.secret").exists()


def test_printed_command_starts_a_broker_in_a_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a b"
    assert cli.main(["cluster", "create", "--folder", str(folder), "--brokers", "1"]) == 0
    file = str(folder / "broker-1" / "server.properties")
    assert shlex.split(capsys.readouterr().out) == ["kafkastore", "broker", file]


def test_folder_that_has_one_of_the_brokers_is_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["cluster", "create", "--folder", str(tmp_path), "--brokers", "1", "--first-id", "2"]
    assert cli.main(arguments) == 0
    before = sorted(tmp_path.rglob("*"))
    arguments[-3:] = ["3", "--first-id", "1"]
    assert cli.main(arguments) == 1
    assert "has broker-2 already" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before
