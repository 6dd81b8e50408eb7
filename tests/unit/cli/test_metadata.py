"""``kafkastore metadata``: its command line, and what it refuses. Whether a restored store works is tested with a
started broker."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest

from kafkastore.cli import main as cli
from kafkastore.metadata.marks import DIRECTORY_FILE, MarkFile, StoreMark
from kafkastore.metadata.nodes import CONFIG_CHANGES, decode_config, encode_config
from kafkastore.metadata.sqlite import SqliteStore


@pytest.fixture
def properties(tmp_path: Path) -> str:
    """The properties file of a broker whose store has one node, and whose log directory has the store's mark."""
    data = tmp_path / "data"

    async def fill() -> None:
        store = SqliteStore(str(data / "kafkastore-metadata.sqlite"))
        await store.connect()
        await store.ensure_path("/config/topics/t")
        mark = await store.mark()
        await store.close()
        file = MarkFile(str(data / DIRECTORY_FILE))
        file.write(mark)
        file.close()

    asyncio.run(fill())
    path = tmp_path / "server.properties"
    path.write_text(f"node.id=1\nlog.dirs={data}\nlisteners=PLAINTEXT://127.0.0.1:9092\n")
    return str(path)


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.main(["metadata", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_backup_is_whole_and_never_overwrites(
    properties: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backup = tmp_path / "backup"
    status, shown, _ = ask(capsys, "backup", str(backup), properties)
    assert status == 0
    assert "as of change" in shown
    assert sorted(one.name for one in tmp_path.iterdir()) == ["backup", "data", "server.properties"]
    with sqlite3.connect(backup) as direct:
        assert direct.execute("SELECT count(*) FROM nodes WHERE name = 't'").fetchone() == (1,)
        assert direct.execute("SELECT count(*) FROM sessions").fetchone() == (0,)
    direct.close()
    status, _, error = ask(capsys, "backup", str(backup), properties)
    assert (status, error) == (1, f"kafkastore metadata backup: {backup} exists already; give the name of a new file\n")


def test_zookeeper_is_backed_up_by_its_own_means(capsys: pytest.CaptureFixture[str], properties: str) -> None:
    for command in (["backup", "f"], ["restore", "f"], ["check"]):
        status, _, error = ask(capsys, *command, properties, "--override", "zookeeper.connect=z:2181")
        assert status == 1
        assert "zookeeper.connect=z:2181" in error


@pytest.mark.parametrize("content", [b"", b"nonsense " * 100, None])
def test_file_that_is_no_backup_is_not_put_in_the_place_of_the_store(
    properties: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    wrong, store = tmp_path / "wrong", tmp_path / "data" / "kafkastore-metadata.sqlite"
    if content is not None:
        wrong.write_bytes(content)
    before = store.read_bytes()
    status, _, error = ask(capsys, "restore", str(wrong), properties)
    assert status == 1
    assert f"{wrong} is no backup of a metadata store" in error
    assert store.read_bytes() == before


def test_damaged_backup_is_refused(properties: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backup = tmp_path / "backup"
    ask(capsys, "backup", str(backup), properties)
    with sqlite3.connect(backup) as direct:
        direct.execute("UPDATE nodes SET data = x'00' WHERE name = 't'")
    direct.close()
    status, _, error = ask(capsys, "restore", str(backup), properties)
    assert status == 1
    assert "node /config/topics/t is not as it was written" in error


def test_backup_of_another_store_is_refused(
    properties: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def make() -> None:
        store = SqliteStore(str(tmp_path / "other" / "metadata.sqlite"))
        await store.connect()
        await store.close()

    asyncio.run(make())
    status, _, error = ask(capsys, "restore", str(tmp_path / "other" / "metadata.sqlite"), properties)
    assert status == 1
    assert "is a backup of metadata store" in error


async def test_nothing_is_done_while_a_broker_has_the_store_or_a_directory(
    properties: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backup = tmp_path / "backup"
    ask(capsys, "backup", str(backup), properties)
    store = SqliteStore(str(tmp_path / "data" / "kafkastore-metadata.sqlite"))
    await store.connect()
    for command in (["restore", str(backup)], ["accept-loss"]):
        status, _, error = ask(capsys, *command, properties)
        assert status == 1
        assert "is in use by a running broker" in error
    assert ask(capsys, "check", properties)[0] == 0
    await store.close()


def test_check_names_what_a_start_would_refuse(
    properties: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, shown, error = ask(capsys, "check", properties)
    assert (status, error) == (0, "")
    assert "is as it was written" in shown
    file = MarkFile(str(tmp_path / "data" / DIRECTORY_FILE))
    file.write(StoreMark("0" * 32, 1))
    file.close()
    status, _, error = ask(capsys, "check", properties)
    assert status == 1
    assert "is another metadata store" in error
    (tmp_path / "data" / "kafkastore-metadata.sqlite").unlink()
    status, _, error = ask(capsys, "check", properties)
    assert status == 1
    assert "is not there" in error


def test_loss_that_is_accepted_drops_what_is_damaged_and_keeps_the_rest(
    properties: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "data" / "kafkastore-metadata.sqlite"

    async def add() -> None:
        opened = SqliteStore(str(store))
        await opened.connect()
        await opened.ensure_path("/brokers/topics/bad/partitions/0")
        await opened.ensure_path("/brokers/topics/bad-2")
        await opened.close()

    asyncio.run(add())
    with sqlite3.connect(store) as direct:
        direct.execute("UPDATE nodes SET data = x'00' WHERE name = 'bad'")
    direct.close()
    assert ask(capsys, "check", properties)[0] == 1
    status, shown, _ = ask(capsys, "accept-loss", properties)
    assert status == 0
    assert "node /brokers/topics/bad was damaged and is gone" in shown
    assert list(store.parent.glob(store.name + ".replaced-*"))
    assert not (store.parent / DIRECTORY_FILE).exists()
    assert ask(capsys, "check", properties)[0] == 0
    with sqlite3.connect(store) as direct:
        left = {
            "/".join(row)
            for row in direct.execute("SELECT parent, name FROM nodes WHERE parent LIKE '/brokers/topics%'")
        }
    direct.close()
    assert left == {"/brokers/topics/bad-2"}


def test_file_of_which_nothing_can_be_read_is_set_aside_when_the_loss_is_accepted(
    properties: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "data" / "kafkastore-metadata.sqlite"
    content = store.read_bytes()[:4096] + b"\xff" * 8192
    store.write_bytes(content)
    assert ask(capsys, "accept-loss", properties)[0] == 0
    assert not store.exists()
    (kept,) = store.parent.glob(store.name + ".replaced-*")
    assert kept.read_bytes() == content


def store_of(properties: str) -> SqliteStore:
    return SqliteStore(str(Path(properties).parent / "data" / "kafkastore-metadata.sqlite"))


async def put_configs(properties: str, nodes: dict[str, dict[str, str] | bytes]) -> None:
    store = store_of(properties)
    await store.connect()
    for node, content in nodes.items():
        await store.ensure_path(f"/config/{node}")
        await store.set(f"/config/{node}", content if isinstance(content, bytes) else encode_config(content))
    await store.close()


KINDS = "KIND is one of brokers, topics, users, clients, ips, groups, client-metrics"
STORED: dict[str, dict[str, str] | bytes] = {
    "brokers/1": {
        "log.roll.ms": "-1",
        "max.connections.per.ip.overrides": "::1:5",
        "listener.name.x.ssl.keystore.password": "secret",
    },
    "brokers/<default>": {"log.retention.ms": "60000", "max.connections.per.ip": "0"},
    "topics/t": {"retention.ms": "5", "min.insync.replicas": "x", "plugin.key": "1"},
    "topics/u": b"{no json",
    "users/alice": {"SCRAM-SHA-256": "salt=secret", "producer_byte_rate": "much"},
    "users/alice/clients/app": {"consumer_byte_rate": "7"},
}


def test_stored_configurations_are_shown_and_wrong_ones_named(
    properties: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(put_configs(properties, STORED))
    status, shown, said = ask(capsys, "config", properties)
    assert (status, said.count("\n")) == (1, 1)
    assert said.startswith("kafkastore metadata config: 7 of these have no effect; remove them")
    lines = dict(line.split("  # no effect: ") if "  # " in line else (line, "") for line in shown.splitlines())
    assert {line: why[:30] for line, why in lines.items()} == {
        "brokers/1:log.roll.ms=-1": "Invalid value -1 for configura",
        "brokers/1:max.connections.per.ip.overrides=::1:5": "",
        "brokers/1:listener.name.x.ssl.keystore.password=[hidden]": "there is no such key",
        "brokers/<default>:log.retention.ms=60000": "",
        "brokers/<default>:max.connections.per.ip=0": "",
        "topics/t:retention.ms=5": "",
        "topics/t:min.insync.replicas=x": "Invalid value x for configurat",
        "topics/t:plugin.key=1": "there is no such key",
        "topics/u: malformed": "",
        "users/alice:SCRAM-SHA-256=[hidden]": "it is malformed",
        "users/alice:producer_byte_rate=much": "it is malformed",
        "users/alice/clients/app:consumer_byte_rate=7": "",
    }
    assert "secret" not in shown


def test_configuration_is_removed_and_noticed(properties: str, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(put_configs(properties, STORED))
    for operand in ("brokers/1:log.roll.ms", "topics/t:min.insync.replicas", "users/alice:producer_byte_rate"):
        assert ask(capsys, "remove-config", operand, properties) == (0, f"{operand} is removed\n", "")
    for operand, reason in (
        ("brokers/1:log.roll.ms", "brokers/1 has no log.roll.ms; see metadata config"),
        ("brokers/9:log.roll.ms", "brokers/9 has no log.roll.ms; see metadata config"),
        ("topics/u:x", "/config/topics/u in the metadata store is malformed; repair or delete it"),
        ("log.roll.ms", f"log.roll.ms names no key; give KIND/NAME:KEY, as in brokers/1:log.roll.ms; {KINDS}"),
        ("brokers//1:x", f"brokers//1:x names no key; give KIND/NAME:KEY, as in brokers/1:log.roll.ms; {KINDS}"),
        ("topic/t1:retention.ms", f"topic/t1:retention.ms names no kind of configurations, topic; {KINDS}"),
    ):
        assert ask(capsys, "remove-config", operand, properties) == (
            1,
            "",
            f"kafkastore metadata remove-config: {reason}\n",
        )

    async def left() -> tuple[dict[str, str], dict[str, str], int]:
        store = store_of(properties)
        await store.connect()
        found = [decode_config((await store.get(f"/config/{node}")).data) for node in ("brokers/1", "users/alice")]
        notices = len(await store.get_children(CONFIG_CHANGES))
        await store.close()
        return found[0], found[1], notices

    broker, user, notices = asyncio.run(left())
    assert (broker["max.connections.per.ip.overrides"], user, notices) == ("::1:5", {"SCRAM-SHA-256": "salt=secret"}, 3)
    assert "log.roll.ms" not in broker


def test_groups_and_subscriptions_are_shown_and_removed(properties: str, capsys: pytest.CaptureFixture[str]) -> None:
    nodes: dict[str, dict[str, str] | bytes] = {
        "groups/a%2Fb": {"consumer.session.timeout.ms": "50000", "consumer.heartbeat.interval.ms": "x", "other": "1"},
        "client-metrics/m": {"interval.ms": "5", "metrics": "*"},
    }
    asyncio.run(put_configs(properties, nodes))
    status, shown, _ = ask(capsys, "config", properties)
    lines = dict(line.split("  # no effect: ") if "  # " in line else (line, "") for line in shown.splitlines())
    assert (status, {line: why[:27] for line, why in lines.items()}) == (
        1,
        {
            "groups/a%2Fb:consumer.session.timeout.ms=50000": "",
            "groups/a%2Fb:consumer.heartbeat.interval.ms=x": "Invalid value x for configu",
            "groups/a%2Fb:other=1": "there is no such key",
            "client-metrics/m:interval.ms=5": "Invalid value 5 for interva",
            "client-metrics/m:metrics=*": "",
        },
    )
    for wrong in [line.partition("=")[0] for line, why in lines.items() if why]:
        assert ask(capsys, "remove-config", wrong, properties) == (0, f"{wrong} is removed\n", "")
    assert ask(capsys, "config", properties)[0] == 0


def test_half_of_a_surrogate_pair_makes_its_node_malformed(properties: str, capsys: pytest.CaptureFixture[str]) -> None:
    content = json.dumps({"version": 1, "config": {"\ud800": "\ud800"}}).encode()
    asyncio.run(put_configs(properties, {"clients/n": content}))
    assert "clients/n: malformed\n" in ask(capsys, "config", properties)[1]


@pytest.mark.parametrize("odd", ["\x1b[31m", "a\nb"])
def test_what_a_terminal_does_not_print_is_escaped_and_can_be_removed(
    properties: str, capsys: pytest.CaptureFixture[str], odd: str
) -> None:
    content = json.dumps({"version": 1, "config": {odd: odd}}).encode()
    asyncio.run(put_configs(properties, {f"clients/{odd}": content, f"topics/{odd}": content}))
    _, shown, _ = ask(capsys, "config", properties)
    assert shown.encode().isascii()
    assert f"clients/{odd!a}:{odd!a}={odd!a}\n" in shown
    operand = f"clients/{odd!a}:{odd!a}"
    assert ask(capsys, "remove-config", operand, properties) == (0, f"{operand} is removed\n", "")
    assert "clients/" not in ask(capsys, "config", properties)[1]


def test_default_of_all_brokers_needs_no_angle_brackets(properties: str, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(put_configs(properties, STORED))
    assert ask(capsys, "remove-config", "brokers/default:log.retention.ms", properties) == (
        0, "brokers/<default>:log.retention.ms is removed\n", "",
    )  # fmt: skip
    said = ask(capsys, "remove-config", "users/default:x", properties)[2]
    assert (
        said == "kafkastore metadata remove-config: users/default has no x; see metadata config\n"
    )  # a user may be called so


def test_looking_makes_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "server.properties"
    file.write_text(f"node.id=1\nlog.dirs={tmp_path / 'none'}\n")
    for arguments in (["config"], ["remove-config", "brokers/1:log.roll.ms"]):
        status, shown, said = ask(capsys, *arguments, str(file))
        assert (status, shown, said.count("\n")) == (1, "", 1)
        assert "kafkastore-metadata.sqlite is not there; name the broker's file" in said
    assert [one.name for one in tmp_path.iterdir()] == ["server.properties"]
