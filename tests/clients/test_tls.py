"""TLS and mutual TLS with real clients: what they write comes back, and whoever must be refused is refused.

Each test runs against Apache Kafka as well (``--against kafka``).
"""

from __future__ import annotations

import datetime as dt
import json
import os
import socket
import ssl
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient
from cryptography.x509.oid import ExtendedKeyUsageOID

from clients import round_trips
from clients.round_trips import rd_values
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, free_port, wait_until
from peer.certificates import DAY, NOW, Authority, Pair, encrypted_key, pkcs12
from peer.java_tools import JavaTools
from peer.topics import create_topic

VALUES = [b"%d " % number + b"x" * (number * 97 % 3000) for number in range(500)]
PASSWORD = "a password"


API_VERSIONS = bytes.fromhex("0000000a00120000000000010000")
"""Version 0, no client id."""


@dataclass
class Secure:
    """A broker with a listener for TLS beside one without."""

    broker: BrokerProcess
    port: int
    authority: Authority

    @property
    def bootstrap(self) -> str:
        return f"localhost:{self.port}"

    def rd(self, client: Pair | None = None, **more: Any) -> dict[str, Any]:
        """Settings for librdkafka."""
        given: dict[str, Any] = {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": "ssl",
            "ssl.ca.location": str(self.authority.ca),
        }
        if client is not None:
            given |= {"ssl.certificate.location": str(client.chain), "ssl.key.location": str(client.key)}
        return given | {name.replace("_", "."): value for name, value in more.items()}

    def context(self, client: Pair | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.authority.ca))
        if client is not None:
            context.load_cert_chain(str(client.chain), str(client.key))
        return context

    def is_served(self, client: Pair | None = None) -> bool:
        """Whether a client gets an answer over TLS. In TLS 1.3 a refusal comes after the client's handshake."""
        return self.session(self.context(client)) is not None

    def session(self, context: ssl.SSLContext, earlier: ssl.SSLSession | None = None) -> ssl.SSLSession | None:
        """The session in which a client gets an answer, ``earlier`` resumed if it is given; None without an answer."""
        try:
            with (
                socket.create_connection(("localhost", self.port), timeout=20) as raw,
                context.wrap_socket(raw, server_hostname="localhost", session=earlier) as wrapped,
            ):
                wrapped.sendall(API_VERSIONS)
                if not wrapped.recv(4):
                    return None
                assert wrapped.session_reused == (earlier is not None)
                return wrapped.session
        except (ssl.SSLError, ConnectionError):
            return None


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "certificates")


@pytest.fixture
def start(broker_factory: BrokerFactory, authority: Authority) -> Callable[..., Secure]:
    """Starts a broker with a listener for TLS: start({key: value})."""

    def run(settings: dict[str, str] | None = None, server: Pair | None = None) -> Secure:
        broker = broker_factory(start=False)
        port = free_port()
        listeners = broker.properties()["listeners"] + f",SSL://127.0.0.1:{port}"
        broker.overrides |= {
            "listeners": listeners,
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{broker.port},SSL://localhost:{port}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL",
        }
        if not any(name.startswith("ssl.keystore") for name in settings or {}):
            both = (server or authority.server()).both
            broker.overrides |= {"ssl.keystore.location": str(both), "ssl.keystore.type": "PEM"}
        broker.overrides |= settings or {}
        broker.start()
        return Secure(broker, port, authority)

    return run


def trusting(authority: Authority, how: str) -> dict[str, str]:
    return {"ssl.client.auth": how, "ssl.truststore.location": str(authority.ca), "ssl.truststore.type": "PEM"}


# ---- what clients write comes back


def librdkafka(secure: Secure, topic: str) -> list[bytes]:
    return round_trips.librdkafka(secure.rd(), topic, VALUES)


def kafka_python(secure: Secure, topic: str) -> list[bytes]:
    given = {"bootstrap_servers": secure.bootstrap, "security_protocol": "SSL", "ssl_cafile": str(secure.authority.ca)}
    return round_trips.kafka_python(given, topic, VALUES)


def aiokafka(secure: Secure, topic: str) -> list[bytes]:
    given = {"bootstrap_servers": secure.bootstrap, "security_protocol": "SSL", "ssl_context": secure.context()}
    return round_trips.aiokafka(given, topic, VALUES)


def kcat(secure: Secure, topic: str) -> list[bytes]:
    return round_trips.kcat(secure.rd(), topic, VALUES)


@pytest.mark.parametrize("client", [librdkafka, kafka_python, aiokafka, kcat])
def test_records_come_back_over_tls(start: Callable[..., Secure], client: Callable[[Secure, str], list[bytes]]) -> None:
    secure = start()
    topic = create_topic(secure.broker.bootstrap, "encrypted")
    assert client(secure, topic) == VALUES


def test_java_tools_work_over_tls(start: Callable[..., Secure], java: JavaTools, tmp_path: Path) -> None:
    secure = start()
    config = tmp_path / "client.properties"
    config.write_text(
        f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={secure.authority.ca}\n"
    )
    bootstrap = ["--bootstrap-server", secure.bootstrap, "--command-config", str(config)]
    made = java.tool("kafka-topics", *bootstrap, "--create", "--topic", "encrypted")
    assert made.exit == 0, made.out + made.err
    producer = Producer(secure.rd())
    producer.produce("encrypted", b"hello")
    assert producer.flush(30) == 0
    offsets = java.tool("kafka-get-offsets", *bootstrap, "--topic", "encrypted")
    assert "encrypted:0:1" in offsets.out, offsets.out + offsets.err


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_large_answers_arrive_whole_in_both_versions(start: Callable[..., Secure], version: str) -> None:
    """Answers of megabytes leave in many records, over a socket that fills up in the middle of one."""
    secure = start({"ssl.enabled.protocols": version})
    topic = create_topic(secure.broker.bootstrap, "large")
    values = [os.urandom(700_000) for _ in range(40)]
    producer = Producer(secure.rd(message_max_bytes=900_000))
    for value in values:
        producer.produce(topic, value, partition=0)
        producer.poll(0)
    assert producer.flush(60) == 0
    settings = secure.rd() | {"fetch.message.max.bytes": 20_000_000, "fetch.max.bytes": 50_000_000}
    assert rd_values(settings, topic, len(values)) == values


@pytest.mark.parametrize("store", ["pkcs12", "encrypted", "inline"])
def test_each_kind_of_key_store_is_read(
    start: Callable[..., Secure], authority: Authority, store: str, against: str
) -> None:
    if (against, store) == ("kafka", "encrypted"):
        pytest.skip("Java 17 has no PBES2 under the name that Kafka asks for")
    pair = authority.server()
    if store == "pkcs12":
        given = {"ssl.keystore.location": str(pkcs12(pair, PASSWORD)), "ssl.keystore.type": "PKCS12"}
        given |= {"ssl.keystore.password": PASSWORD, "ssl.key.password": PASSWORD}
    elif store == "encrypted":
        given = {"ssl.keystore.location": str(encrypted_key(pair, PASSWORD)), "ssl.keystore.type": "PEM"}
        given |= {"ssl.key.password": PASSWORD}
    else:
        chain, key = (path.read_text().replace("\n", "\\n") for path in (pair.chain, pair.key))
        given = {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}
    assert start(given).is_served()


# ---- who is refused


def test_clients_with_certificates_that_must_not_count_are_refused(
    start: Callable[..., Secure], authority: Authority, tmp_path: Path
) -> None:
    other = Authority(tmp_path / "other")
    bad: dict[str, Pair | None] = {
        "without one": None,
        "of another authority": other.client("CN=alice"),
        "self-signed": authority.client("CN=alice", "self", is_self_signed=True),
        "expired": authority.client("CN=alice", "expired", begins=NOW - 9 * DAY, ends=NOW - DAY),
        "not valid yet": authority.client("CN=alice", "early", begins=NOW + DAY, ends=NOW + 9 * DAY),
        "of a server": authority.client("CN=alice", "server-only", usage=ExtendedKeyUsageOID.SERVER_AUTH),
        "for mail": authority.client("CN=alice", "mail", usage=ExtendedKeyUsageOID.EMAIL_PROTECTION),
    }
    secure = start(trusting(authority, "required"))
    for name, pair in bad.items():
        assert not secure.is_served(pair), name
    assert secure.is_served(authority.client("CN=alice", "good"))


def test_a_resumed_session_ends_with_the_certificate_of_its_client(
    start: Callable[..., Secure], authority: Authority, against: str
) -> None:
    if against == "kafka":
        pytest.skip("Java takes a session for a day")
    secure = start(trusting(authority, "required"))
    lasts = secure.context(authority.client("CN=alice"))
    ends = dt.datetime.now(dt.UTC).replace(microsecond=0) + dt.timedelta(seconds=2)
    brief = secure.context(authority.client("CN=bob", "brief", ends=ends))
    of_alice, of_bob = secure.session(lasts), secure.session(brief)
    assert of_alice is not None
    assert of_bob is not None
    time.sleep((ends - dt.datetime.now(dt.UTC)).total_seconds() + 1.1)  # a certificate counts until its second is over
    assert secure.session(lasts, of_alice) is not None
    assert secure.session(brief, of_bob) is None


def test_a_revoked_client_is_refused(start: Callable[..., Secure], authority: Authority, against: str) -> None:
    if against == "kafka":
        pytest.skip("Kafka has no key for a list of revoked certificates")
    revoked, good = authority.client("CN=mallory", "revoked"), authority.client("CN=alice", "good")
    crl = authority.revoke(revoked)
    secure = start(trusting(authority, "required") | {"kafkastore.ssl.crl.location": str(crl)})
    assert not secure.is_served(revoked)
    assert secure.is_served(good)


def test_requested_certificates_may_be_left_out_but_not_wrong(
    start: Callable[..., Secure], authority: Authority, tmp_path: Path
) -> None:
    secure = start(trusting(authority, "requested"))
    assert secure.is_served()
    assert secure.is_served(authority.client("CN=alice"))
    assert not secure.is_served(Authority(tmp_path / "other").client("CN=alice"))


def test_a_client_refuses_a_server_with_another_name(start: Callable[..., Secure], authority: Authority) -> None:
    secure = start(server=authority.server("elsewhere.example"))
    refused: list[str] = []
    admin = AdminClient(secure.rd() | {"error_cb": lambda error: refused.append(error.name()), "log_level": 0})

    def has_refused() -> bool:
        with pytest.raises(KafkaException):
            admin.list_topics(timeout=0.1)
        admin.poll(0)
        return "_SSL" in refused

    wait_until(has_refused, 20, "the client refuses the certificate")


def test_a_java_client_refuses_a_server_with_another_name(
    start: Callable[..., Secure], authority: Authority, java: JavaTools, tmp_path: Path
) -> None:
    secure = start(server=authority.server("elsewhere.example"))
    config = tmp_path / "client.properties"
    trust = f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={authority.ca}\n"
    for more, is_listed in (("", False), ("ssl.endpoint.identification.algorithm=\n", True)):
        config.write_text(trust + more)
        bootstrap = ["--bootstrap-server", secure.bootstrap, "--command-config", str(config)]
        done = java.tool("kafka-topics", *bootstrap, "--list")
        assert (done.exit == 0) == is_listed, done.out + done.err
        assert is_listed or "SSL handshake failed" in done.out


def test_a_client_cannot_begin_another_handshake(start: Callable[..., Secure]) -> None:
    """Renegotiation of TLS 1.2: it would cost the broker a signature each time."""
    secure = start()
    command = ["openssl", "s_client", "-connect", secure.bootstrap, "-tls1_2", "-msg"]
    done = subprocess.run(command, input=b"R\n", capture_output=True, timeout=30, check=False)
    assert b"RENEGOTIATING" in done.stdout + done.stderr
    assert done.stdout.count(b"ServerHello\n") == 1, done.stdout.decode()
    assert b"no_renegotiation" in done.stdout
    assert secure.is_served()


def test_old_versions_of_tls_and_other_protocols_are_refused(start: Callable[..., Secure]) -> None:
    secure = start()
    for version in ("-tls1", "-tls1_1", "-ssl3"):
        command = ["openssl", "s_client", "-connect", secure.bootstrap, version, "-cipher", "ALL:@SECLEVEL=0"]
        done = subprocess.run(command, input=b"", capture_output=True, timeout=30, check=False)
        assert b"Cipher is (NONE)" in done.stdout or done.returncode != 0, version
    malformed = bytes.fromhex("160301000c01000002090901000002 0909")  # two messages in one record
    half = bytes.fromhex("1603010006010001000303990909000100")  # a message that goes on in what is no record
    other = (b"GET / HTTP/1.1\r\n\r\n", bytes.fromhex("0000000a00120000000000010000"), b"\x16\x03\x01\xff\xff" * 9)
    for sent in (*other, malformed, half):
        with socket.create_connection(("localhost", secure.port), timeout=20) as raw:
            raw.sendall(sent)
            raw.shutdown(socket.SHUT_WR)
            answer = b""
            while part := raw.recv(4096):
                answer += part
            assert len(answer) <= 7, "an alert of TLS at the most"
    assert secure.is_served()


# ---- certificates that are renewed


def test_a_renewed_certificate_serves_new_clients_and_keeps_old_ones(
    start: Callable[..., Secure], authority: Authority, against: str
) -> None:
    if against == "kafka":
        pytest.skip("Kafka reads a renewed file only when its configuration is altered")
    used = authority.server(name="used")
    secure = start(server=used)
    topic = create_topic(secure.broker.bootstrap, "renewed")
    producer = Producer(secure.rd())
    producer.produce(topic, b"before")
    assert producer.flush(30) == 0

    used.both.write_text("half a file")
    wait_until(lambda: "certificates in use stay" in secure.broker.output(), 20, "a useless file is logged")
    assert secure.is_served()

    before = serial(secure)
    used.both.write_bytes(authority.server(name="next").both.read_bytes())
    wait_until(lambda: serial(secure) != before, 20, "new clients see the renewed certificate")
    producer.produce(topic, b"after")
    assert producer.flush(30) == 0
    assert rd_values(secure.rd(), topic, 2) == [b"before", b"after"]


def serial(secure: Secure) -> int:
    """The serial number of the certificate that a new client sees."""
    with (
        socket.create_connection(("localhost", secure.port), timeout=20) as raw,
        secure.context().wrap_socket(raw, server_hostname="localhost") as wrapped,
    ):
        shown = wrapped.getpeercert()
        assert shown is not None
        return int(str(shown["serialNumber"]), 16)


# ---- clients that hold handshakes open


def test_a_thousand_open_handshakes_hold_up_nobody(start: Callable[..., Secure], against: str) -> None:
    if against == "kafka":
        pytest.skip("about this broker's thread for handshakes")
    secure = start({"socket.connection.setup.timeout.ms": "6000"})  # they are open while others are served
    pid = secure.broker.pid
    before = rss_bytes(pid)
    hostile = [socket.create_connection(("127.0.0.1", secure.port), timeout=20) for _ in range(1000)]
    for number, one in enumerate(hostile):
        one.sendall(b"\x16\x03\x01\x40\x00" + b"\x01\x00\x3f\xfc"[: number % 5] + b"x" * (number % 200))
    assert secure.is_served()
    topic = create_topic(secure.broker.bootstrap, "beside")
    assert librdkafka(secure, topic) == VALUES
    assert rss_bytes(pid) - before < 64 << 20
    for one in hostile:
        one.settimeout(25)
        try:
            while one.recv(100):
                pass
        except ConnectionError:
            pass
        one.close()
    wait_until(secure.is_served, 10, "the listener serves on")


def rss_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# ---- mistakes of operators


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"ssl.keystore.location": "/nowhere.pem"}, "ssl.keystore.location=/nowhere.pem cannot be read"),
        ({"ssl.client.auth": "required"}, "set ssl.truststore.location"),
        ({"ssl.client.auth": "sometimes"}, "ssl.client.auth"),
        ({"ssl.enabled.protocols": "TLSv1"}, "ssl.enabled.protocols=TLSv1 is not served"),
        ({"ssl.cipher.suites": "TLS_RSA_WITH_RC4_128_SHA"}, "ssl.cipher.suites=TLS_RSA_WITH_RC4_128_SHA is not served"),
        ({"ssl.principal.mapping.rules": "RULE:("}, "ssl.principal.mapping.rules has RULE:("),
        ({"ssl.engine.factory.class": "com.example.Engine"}, "asks for a protection that this version does not have"),
    ],
)
def test_a_wrong_key_ends_the_start_with_one_sentence(
    broker_factory: BrokerFactory, authority: Authority, settings: dict[str, str], said: str
) -> None:
    broker = broker_factory(start=False, kind="kafkastore")
    both = str(authority.server().both)
    broker.overrides |= {"listeners": f"SSL://127.0.0.1:{broker.port}", "ssl.keystore.location": both, **settings}
    broker.launch()
    assert broker.wait_until_ended() == 1
    output = broker.output()
    assert said in output
    assert "Traceback" not in output
    assert "PRIVATE KEY-----\n" not in output


def test_describe_configs_hides_passwords_and_keys(start: Callable[..., Secure], authority: Authority) -> None:
    both = pkcs12(authority.server(), PASSWORD)
    secure = start(
        {"ssl.keystore.location": str(both), "ssl.keystore.type": "PKCS12", "ssl.keystore.password": PASSWORD}
    )
    done = subprocess.run(
        ["kcat", "-L", "-J", "-b", secure.broker.bootstrap], capture_output=True, check=True, timeout=30
    )
    node = json.loads(done.stdout)["brokers"][0]["id"]
    from confluent_kafka.admin import ConfigResource, ResourceType

    admin = AdminClient({"bootstrap.servers": secure.broker.bootstrap})
    asked = admin.describe_configs([ConfigResource(ResourceType.BROKER, str(node))])
    (found,) = [future.result() for future in asked.values()]
    assert found["ssl.keystore.password"].value is None
    assert found["ssl.keystore.location"].value is not None
