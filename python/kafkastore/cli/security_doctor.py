"""``kafkastore security doctor``: a line for each thing that a broker's configuration leaves open, with the key and the
fix, and certificates that end soon. It reads the configuration, certificates and the modes of files; it connects to
nothing and changes nothing."""

from __future__ import annotations

import os
import stat
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkastore.config.listeners import is_loopback
from kafkastore.config.sasl import sasl_settings
from kafkastore.config.tls import tls_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkastore.config import BrokerConfig


def run(config: BrokerConfig) -> int:
    """Returns the exit status: 1 when something is open."""
    found = list(findings(config))
    for line in found:
        sys.stdout.write(f"open: {line}\n")
    if not found:
        sys.stdout.write("nothing is open\n")
    return 1 if found else 0


def findings(config: BrokerConfig) -> Iterator[str]:
    yield from _listeners(config)
    yield from _authorizer(config)
    yield from _brokers(config)
    yield from _store(config)
    yield from _files(config)
    yield from _certificates(config)


def _listeners(config: BrokerConfig) -> Iterator[str]:
    for listener in config.open_listeners:
        yield (
            f"listener {listener!r} lets in every client that reaches it; give it SASL_SSL, or SSL with "
            "ssl.client.auth=required, or let it listen on 127.0.0.1"
        )
    for listener in config.listeners:
        if listener.is_loopback or not listener.has_sasl or listener.has_tls:
            continue
        what = "passwords and records" if "PLAIN" in sasl_settings(config, listener).mechanisms else "records"
        yield f"listener {listener!r} has no TLS, so everyone on the way reads {what}; give it SASL_SSL"
    metrics = config.metrics_listener
    if metrics is not None and not is_loopback(metrics[0]):
        yield (
            f"kafkastore.metrics.listener={config.text('kafkastore.metrics.listener')} shows names of topics to "
            "everyone who reaches it; let it listen on 127.0.0.1"
        )


def _authorizer(config: BrokerConfig) -> Iterator[str]:
    if config.authorizer is None:
        yield (
            "authorizer.class.name is not set, so every client that is let in may do everything; set "
            "org.apache.kafka.metadata.authorizer.StandardAuthorizer, super.users, and ACLs"
        )
    elif config.authorizer.allows_everyone:
        yield "allow.everyone.if.no.acl.found=true lets everyone use what has no ACL; set it to false"


def _brokers(config: BrokerConfig) -> Iterator[str]:
    link = config.brokers_link
    if link is None:
        return
    if link.tls is None and not link.listener.is_loopback:
        yield (
            f"inter.broker.listener.name: {link.listener!r} has no TLS, so everyone on the way reads what "
            "brokers copy from each other; give it SASL_SSL or SSL"
        )
    if link.is_by_principal:
        return
    if not config.get("kafkastore.inter.broker.secret.file"):
        yield (
            f"kafkastore.inter.broker.secret.file is not set, so whoever reaches {config.inter_broker_listener} may "
            "act as a broker; give all brokers one secret"
        )
    elif config.get("kafkastore.inter.broker.secret.required") is False:
        yield "kafkastore.inter.broker.secret.required=false serves brokers without a proof; set it to true"


def _store(config: BrokerConfig) -> Iterator[str]:
    if config.get("zookeeper.connect") is None:
        return
    if not config.get("zookeeper.ssl.client.enable"):
        yield "zookeeper.ssl.client.enable is not true, so the metadata and its password cross the network in the open"
    if not config.get("zookeeper.set.acl"):
        yield "zookeeper.set.acl is not true, so whoever reaches ZooKeeper may change the metadata"


def _files(config: BrokerConfig) -> Iterator[str]:
    secret = {"kafkastore.inter.broker.secret.file": config.get("kafkastore.inter.broker.secret.file")}
    for listener in config.listeners:
        if listener.has_tls:
            secret["ssl.keystore.location"] = tls_settings(config, listener).get("ssl.keystore.location")
            yield from _readable(secret)
            secret = {}
    yield from _readable(secret)
    if config.get("zookeeper.connect") is None:
        yield from _readable({"the metadata store": config.metadata_path})
    for directory in config.log_dirs:
        with suppress(OSError):
            if stat.S_IMODE(os.stat(directory).st_mode) & 0o007:
                yield f"log.dirs: {directory} may be opened by every user of this host; chmod o-rwx it"


def _certificates(config: BrokerConfig) -> Iterator[str]:
    from kafkastore.server.certificate_ends import read_ends, sentences

    for listener in config.listeners:
        if listener.has_tls:
            for sentence, _ in sentences(listener.name, read_ends(tls_settings(config, listener)), time.time()):
                yield sentence


def _readable(paths: dict[str, str | None]) -> Iterator[str]:
    for name, path in paths.items():
        with suppress(OSError):
            if path and stat.S_IMODE(os.stat(path).st_mode) & 0o077:
                yield f"{name}: {path} may be read by other users of this host; chmod 600 it"
