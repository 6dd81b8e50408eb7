"""``kafkastore security``: the files that ``init`` makes are a broker that lets in nobody unproven, and ``doctor``
names what other configurations leave open."""

from __future__ import annotations

import json
import os
import socket
import ssl
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from kafkastore._core import issue_certificates
from peer.broker_process import free_port, wait_until
from peer.java_tools import JavaTools
from peer.kafkastore_broker import executable
from peer.wire_socket import WireSocket

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def security(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [executable(), "security", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def conf(path: Path) -> dict[str, Any]:
    return dict(line.split("=", 1) for line in path.read_text().splitlines())


@contextmanager
def running(folder: Path) -> Iterator[None]:
    """A broker with the files in ``folder``."""
    log = folder.parent / "out.log"
    with log.open("w") as out:
        command = [executable(), "broker", str(folder / "server.properties")]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        try:
            wait_until(lambda: "is ready" in log.read_text() or process.poll() is not None, 60, "the broker is ready")
            assert process.poll() is None, log.read_text()
            yield
        finally:
            process.terminate()
            process.wait(60)


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, int]:
    """(folder, port) of ``security init``."""
    folder, port = tmp_path / "made", free_port()
    while free_port() == port + 1:
        port = free_port()
    done = security("init", "--folder", str(folder), "--port", str(port))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == f"kafkastore broker {folder}/server.properties"
    return folder, port


def produce(settings: dict[str, Any], topic: str) -> KafkaError | None:
    """The error of one record."""
    errors: list[KafkaError | None] = []
    refused: list[KafkaError] = []
    producer = Producer({**settings, "message.timeout.ms": "15000", "error_cb": refused.append, "log_level": 0})
    producer.produce(topic, b"x", on_delivery=lambda error, _: errors.append(error))
    producer.flush(20)
    return errors[0] if errors else KafkaError(KafkaError._MSG_TIMED_OUT)


def topics_by_profile(settings: dict[str, Any], home: Path, other: list[str]) -> str:
    """What ``kafkastore topics list`` prints with a profile of these keys, which serves another program as well."""

    def ran(*command: str) -> str:
        environment = {**os.environ, "XDG_CONFIG_HOME": str(home), "KAFKASTORE_PROFILE": "one"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    (home / "kafkastore/profiles/one.properties").unlink(missing_ok=True)
    keys = [f"-X{key}={value}" for key, value in settings.items()]
    ran(executable(), "profile", "create", "one", "-b", settings["bootstrap.servers"], *keys)
    path = ran(executable(), "profile", "path").strip()
    if other:
        assert 'topic "orders"' in ran(*(path if word == "PROFILE" else word for word in other))
    names = json.loads(ran(executable(), "topics", "list", "--json"))
    return "".join(f"{one['name']}\n" for one in names)


def test_what_init_makes_lets_in_its_users_and_nobody_else(
    made: tuple[Path, int], java: JavaTools, tmp_path: Path
) -> None:
    folder, port = made
    admin, client = (conf(folder / "users" / user / "kcat.conf") for user in ("admin", "client"))
    by_certificate = {
        "bootstrap.servers": f"localhost:{port + 1}",
        "security.protocol": "SSL",
        "ssl.ca.location": str(folder / "ca.pem"),
        "ssl.certificate.location": str(folder / "users/client/certificate.pem"),
        "ssl.key.location": str(folder / "users/client/certificate.pem"),
    }
    with running(folder):
        maker = AdminClient(admin)
        maker.create_topics([NewTopic("orders", 1)])["orders"].result(20)
        for settings in (client, by_certificate):
            refused = produce(settings, "orders")
            assert refused is not None
            assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        allowed = AclBinding(
            ResourceType.TOPIC, "orders", ResourcePatternType.LITERAL, "User:client", "*", AclOperation.WRITE,
            AclPermissionType.ALLOW,
        )  # fmt: skip
        maker.create_acls([allowed])[allowed].result(20)
        for settings in (client, by_certificate):
            assert produce(settings, "orders") is None
        config = folder / "users/admin/client.properties"
        to = ["--bootstrap-server", f"localhost:{port}", "--command-config", str(config)]
        assert "orders" in java.tool("kafka-topics", *to, "--list").out
        ours = subprocess.run(
            [executable(), "cluster", "status", *to], capture_output=True, text=True, timeout=30, check=False
        )
        assert (ours.returncode, ours.stderr) == (0, "")
        assert f"localhost:{port}" in ours.stdout
        config = folder / "users/client/client.properties"  # who may not describe the cluster
        ours = subprocess.run(
            [executable(), "cluster", "status", *to[:3], str(config)],
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
        assert ours.returncode == 1
        assert "topics that it may not describe are not counted" in ours.stderr
        assert "Cluster authorization failed" in ours.stdout
        unproven = subprocess.run(
            [executable(), "cluster", "status", *to[:2]], capture_output=True, text=True, timeout=60, check=False
        )
        assert unproven.returncode == 1
        assert unproven.stderr.count("\n") == 1
        listed = subprocess.run(
            ["kcat", "-F", str(folder / "users/admin/kcat.conf"), "-L"],
            capture_output=True, text=True, timeout=30, check=True,
        )  # fmt: skip
        assert 'topic "orders"' in listed.stdout
        for settings in (admin, by_certificate):
            assert topics_by_profile(settings, tmp_path, ["kcat", "-F", "PROFILE", "-L"]) == "orders\n"
        assert topics_by_profile(conf(config) | {"bootstrap.servers": f"localhost:{port}"}, tmp_path, []) == "orders\n"
        java_list = java.tool("kafka-topics", *to[:3], str(tmp_path / "kafkastore/profiles/one.properties"), "--list")
        assert "orders" in java_list.out
        with pytest.raises(KafkaException):
            AdminClient({**client, "sasl.password": "wrong", "log_level": 0}).list_topics(timeout=3)
        without = {name: value for name, value in by_certificate.items() if "certificate" not in name}
        with pytest.raises(KafkaException):
            AdminClient({**without, "log_level": 0}).list_topics(timeout=3)
        for one in (port, port + 1):
            with WireSocket(one) as wire, pytest.raises(OSError, match=r"."):
                wire.has_broker()
    shown = security("doctor", str(folder / "server.properties"))
    assert (shown.returncode, shown.stdout) == (0, "nothing is open\n")


def test_only_the_owner_reads_what_init_makes(made: tuple[Path, int]) -> None:
    folder, _ = made
    for path in (folder, *folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert not list(folder.parent.glob(".security-*"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--users", "a,a"], "--users a,a names one twice"),
        (["--users", "a,b c"], "--users a,b c has 'b c'"),
        (["--users", ""], "--users  has ''"),
        (["--hosts", "a/b"], "--hosts a/b has 'a/b'"),
        (["--port", "65535"], "--port is 65535; give a whole number from 1 to 65534"),
        (["--days", "0"], "--days is 0"),
        (["--folder", "/proc/kafkastore"], "--folder /proc/kafkastore cannot be written"),
    ],
)
def test_init_refuses_with_one_sentence_and_makes_nothing(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = security("init", "--folder", str(tmp_path / "made"), *arguments)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_init_does_not_touch_a_folder_that_exists(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("x")
    done = security("init", "--folder", str(tmp_path))
    assert done.returncode == 1
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def shown_certificate(port: int, folder: Path) -> bytes:
    """What the broker shows, checked against the folder's authority."""
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    with (
        socket.create_connection(("127.0.0.1", port), 10) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secured,
    ):
        return secured.getpeercert(binary_form=True) or b""


def test_users_and_certificates_are_added_and_renewed_while_the_broker_runs(made: tuple[Path, int]) -> None:
    folder, port = made
    kept = tuple((folder / name).read_text() for name in ("ca.key", "users/client/kcat.conf"))
    with running(folder):
        added = security("add-user", "--folder", str(folder), "--users", "eve,bob")
        assert (added.returncode, added.stderr) == (0, "eve, bob may do what ACLs allow.\n")
        assert added.stdout.splitlines()[0] == f"kcat -F {folder}/users/eve/kcat.conf -L"

        def is_let_in(user: str) -> bool:
            with suppress(KafkaException):
                settings = {**conf(folder / f"users/{user}/kcat.conf"), "log_level": 0}
                return bool(AdminClient(settings).list_topics(timeout=3).brokers)
            return False

        wait_until(lambda: is_let_in("bob") and is_let_in("eve"), 30, "the new users are let in")
        before = shown_certificate(port, folder)
        assert before
        done = security("add-host", "--folder", str(folder), "--hosts", "kafka.example,127.0.0.1")
        assert (done.returncode, done.stdout) == (
            0,
            f"{folder}/broker.pem is for localhost, 127.0.0.1, kafka.example\n",
        )
        assert "The broker listens for this host alone: set listeners=" in done.stderr
        wait_until(lambda: shown_certificate(port, folder) != before, 30, "the broker shows the certificate")
        assert b"kafka.example" in shown_certificate(port, folder)
        before = shown_certificate(port, folder)
        done = security("renew", "--folder", str(folder), "--days", "6")
        assert done.returncode == 0
        assert len(done.stdout.splitlines()) == 2 + 4
        wait_until(lambda: shown_certificate(port, folder) != before, 30, "the broker shows the certificate")
        assert b"kafka.example" in shown_certificate(port, folder)
        assert is_let_in("client")
        log = (folder.parent / "out.log").read_text()
        assert "the certificate CN=localhost of ssl.keystore ends on " in log
        assert " UTC, in 5 days; then clients refuse it: renew it" in log
    told = security("doctor", str(folder / "server.properties"))
    assert told.returncode == 1
    assert [line.partition(" ends on")[0] for line in told.stdout.splitlines()] == [
        f"open: listener {listener}: the certificate {subject}"
        for listener in ("SASL_SSL", "SSL")
        for subject in ("CN=localhost of ssl.keystore", "CN=kafkastore private authority of ssl.truststore")
    ]
    assert kept == tuple((folder / name).read_text() for name in ("ca.key", "users/client/kcat.conf"))
    for path in folder.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
        assert not path.name.startswith(".") or "data" in path.parts, path


def test_users_are_added_all_or_none(made: tuple[Path, int]) -> None:
    folder, _ = made
    (folder / "users/client").rename(folder.parent / "elsewhere")  # in the store, without files
    refused = security("add-user", "--folder", str(folder), "--users", "eve,client")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "there is a user client already; give another name" in refused.stderr
    assert sorted(one.name for one in (folder / "users").iterdir()) == ["admin"]
    added = security("add-user", "--folder", str(folder), "--users", "eve")
    assert added.returncode == 0, "nothing of her was left"


def test_a_broker_for_an_address_of_ipv6_is_reached_there(tmp_path: Path) -> None:
    port = free_port()
    done = security("init", "--folder", str(tmp_path / "made"), "--port", str(port), "--hosts", "::1")
    assert done.returncode == 0, done.stderr
    with running(tmp_path / "made"):
        settings = {**conf(tmp_path / "made/users/admin/kcat.conf"), "log_level": 0}
        assert AdminClient(settings).list_topics(timeout=10).brokers
    added = security("add-host", "--folder", str(tmp_path / "made"), "--hosts", "::1,2001:db8::1")
    assert f"advertised.listeners=SASL_SSL://[2001:db8::1]:{port}," in added.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add-user", "--users", "client"], "users/client is there already; give another name"),
        (["add-user", "--users", "new", "--ca-key", "/none"], "/none cannot be read (No such file or directory)"),
        (["add-user", "--users", "new", "--ca-key", "/etc/hostname"], "/etc/hostname: it is no private key"),
        (["add-user", "--users", "a b"], "--users a b has 'a b'"),
        (["add-user", "--users", ".."], "--users .. has '..'"),
        (["add-host", "--hosts", "256.1.1.1"], "--hosts 256.1.1.1 has '256.1.1.1'; give names or addresses of hosts"),
        (["add-host", "--hosts", "a/b"], "--hosts a/b has 'a/b'"),
        (["add-host", "--hosts", "a", "--ca-key", "OTHER"], "other.key is not the key of"),
        (["renew", "--ca-key", "OTHER"], "other.key is not the key of"),
        (["renew", "--days", "x"], "--days is x"),
        (
            ["renew", "--folder", "/tmp"],
            "--folder /tmp has no server.properties; give a folder that security init made",
        ),
    ],
)
def test_what_cannot_be_added_is_told_in_one_sentence_and_changes_nothing(
    made: tuple[Path, int], arguments: list[str], said: str
) -> None:
    folder, _ = made
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "data" not in path.parts}
    other = folder.parent / "other.key"
    other.write_text(issue_certificates([], [], 1_800_000_000, 1)[0][1])
    command, *rest = (str(other) if one == "OTHER" else one for one in arguments)
    done = security(command, "--folder", str(folder), *rest)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    now = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "data" not in path.parts}
    assert now == before


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"listeners": "PLAINTEXT://:9092"}, "listener PLAINTEXT://:9092 lets in every client"),
        ({"listeners": "PLAINTEXT://127.0.0.1:9092"}, "authorizer.class.name is not set"),
        (
            {"authorizer.class.name": STANDARD_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"},
            "allow.everyone.if.no.acl.found=true",
        ),
        (
            {"listeners": "SASL_PLAINTEXT://:9092", "sasl.enabled.mechanisms": "SCRAM-SHA-256"},
            "has no TLS, so everyone on the way reads records",
        ),
        ({"kafkastore.metrics.listener": ":9404"}, "kafkastore.metrics.listener=:9404 shows names of topics"),
        ({"kafkastore.metadata.path": "{folder}/m"}, "kafkastore.inter.broker.secret.file is not set"),
        ({"zookeeper.connect": "localhost:2181"}, "zookeeper.ssl.client.enable is not true"),
        ({"zookeeper.connect": "localhost:2181"}, "zookeeper.set.acl is not true"),
        ({"log.dirs": "{folder}/open"}, "{folder}/open may be opened by every user of this host"),
    ],
)
def test_doctor_names_what_is_open(tmp_path: Path, properties: dict[str, str], said: str) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    given = {"log.dirs": str(tmp_path / "closed"), **properties}
    file = tmp_path / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in given.items()).replace("{folder}", str(tmp_path)))
    done = security("doctor", str(file))
    assert done.returncode == 1
    assert any(said.replace("{folder}", str(tmp_path)) in line for line in done.stdout.splitlines()), done.stdout
    assert done.stderr == ""
