"""The settings ``zookeeper.*``; a wrong value is refused in one sentence that names its key."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkastore.config import BrokerConfig
from kafkastore.errors import ConfigError
from kafkastore.metadata.zookeeper_settings import ZookeeperSettings, read_settings

CONNECT = {"zookeeper.connect": "zk1:2181,zk2:2182/kafka"}


def read(**properties: str) -> ZookeeperSettings:
    given = {name.replace("__", "."): value for name, value in properties.items()}
    return read_settings(BrokerConfig({**CONNECT, **given}).get)


def test_defaults_are_kafka_3_9s() -> None:
    assert read() == ZookeeperSettings("zk1:2181,zk2:2182", "/kafka", 18_000, 18_000, 10, False, None, None)
    assert read(zookeeper__connection__timeout__ms="5000").connection_timeout_ms == 5000


@pytest.mark.parametrize(
    ("text", "hosts", "chroot"),
    [
        ("zk", "zk:2181", ""),
        ("zk:1, zk2", "zk:1,zk2:2181", ""),
        ("zk/", "zk:2181", ""),
        ("zk/a/b/", "zk:2181", "/a/b"),
        ("[::1]:2181,[::2]/a", "[::1]:2181,[::2]:2181", "/a"),
    ],
)
def test_hosts_and_chroot_are_taken_apart(text: str, hosts: str, chroot: str) -> None:
    settings = read(zookeeper__connect=text)
    assert (settings.hosts, settings.chroot) == (hosts, chroot)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("zookeeper.connect", "", "give it as host1:2181,host2:2181"),
        ("zookeeper.connect", "zk:x", "give it as host1:2181,host2:2181"),
        ("zookeeper.connect", "zk:0", "give it as host1:2181,host2:2181"),
        ("zookeeper.connect", "zk,,zk2", "give it as host1:2181,host2:2181"),
        ("zookeeper.connect", "zk/a//b", "/a//b is not a path in ZooKeeper"),
        ("zookeeper.connect", "zk/../b", "is not a path in ZooKeeper"),
        ("zookeeper.session.timeout.ms", "x", "Not a number of type INT"),
        ("zookeeper.session.timeout.ms", "0", "Value must be at least 1"),
        ("zookeeper.connection.timeout.ms", "-1", "Value must be at least 1"),
        ("zookeeper.max.in.flight.requests", "0", "Value must be at least 1"),
        ("zookeeper.set.acl", "perhaps", "Expected value to be either true or false"),
        ("zookeeper.set.acl", "true", "set kafkastore.zookeeper.digest to a user:password"),
        ("kafkastore.zookeeper.digest", "nobody", "give it as user:password"),
    ],
)
def test_wrong_value_names_its_key(name: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_settings(BrokerConfig({**CONNECT, name: value}).get)
    assert name in str(raised.value)
    assert message in str(raised.value)
    assert "nobody" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("zookeeper.ssl.truststore.location", "/nowhere.pem", "no PEM file of certificates (No such file"),
        ("zookeeper.ssl.keystore.location", "/nowhere.pem", "no PEM file of a key and its certificates (No such file"),
        ("zookeeper.ssl.protocol", "SSLv3", "String must be one of: TLSv1.2, TLSv1.3"),
        ("zookeeper.ssl.enabled.protocols", "TLSv1.3,TLSv1", "String must be one of: TLSv1.2, TLSv1.3"),
        ("zookeeper.ssl.cipher.suites", "NONE_SUCH", "give OpenSSL's names"),
        ("zookeeper.ssl.crl.enable", "true", "revocation is not checked"),
        ("zookeeper.ssl.endpoint.identification.algorithm", "LDAPS", "give HTTPS, or nothing"),
    ],
)
def test_wrong_tls_value_names_its_key(name: str, value: str, message: str) -> None:
    given = {**CONNECT, "zookeeper.ssl.client.enable": "true", name: value}
    with pytest.raises(ConfigError) as raised:
        read_settings(BrokerConfig(given).get)
    assert name in str(raised.value)
    assert message in str(raised.value)


def test_store_of_another_type_than_pem_is_refused(tmp_path: Path) -> None:
    for kind in ("keystore", "truststore"):
        given = {
            **CONNECT,
            "zookeeper.ssl.client.enable": "true",
            f"zookeeper.ssl.{kind}.location": str(tmp_path / "store.jks"),
            f"zookeeper.ssl.{kind}.type": "JKS",
        }
        with pytest.raises(ConfigError, match=rf"JKS for configuration zookeeper.ssl.{kind}.type: .* PEM"):
            read_settings(BrokerConfig(given).get)


def test_default_tls_checks_the_servers_name() -> None:
    tls = read(zookeeper__ssl__client__enable="true").tls
    assert tls is not None
    assert tls.check_hostname
    without = read(zookeeper__ssl__client__enable="true", zookeeper__ssl__endpoint__identification__algorithm="").tls
    assert without is not None
    assert not without.check_hostname
