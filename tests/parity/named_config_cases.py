"""Configurations of groups (KIP-848, KIP-932, KIP-1071) and of subscriptions to clients' metrics (KIP-714)."""

from __future__ import annotations

from typing import Any

from parity.cases import APPEND, DELETE, GROUP, METRICS, SET, SUBTRACT, Case

NAMED_CONFIGS: list[Case] = []

SESSION, HEARTBEAT, RESET = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms", "share.auto.offset.reset"


def alter(name: str, kind: int, of: str, *changes: tuple[str, int, str | None], **more: Any) -> None:
    configs = [{"name": key, "config_operation": operation, "value": value} for key, operation, value in changes]
    resources = [{"resource_type": kind, "resource_name": of, "configs": configs}]
    NAMED_CONFIGS.append(Case(name, "incremental_alter_configs", (1,), {"resources": resources, **more}))


def replace(name: str, kind: int, of: str, *configs: tuple[str, str]) -> None:
    pairs = [{"name": key, "value": value} for key, value in configs]
    resources = [{"resource_type": kind, "resource_name": of, "configs": pairs}]
    NAMED_CONFIGS.append(Case(name, "alter_configs", (2,), {"resources": resources}))


def show(name: str, kind: int, of: str, *keys: str) -> None:
    resources = [{"resource_type": kind, "resource_name": of, "configuration_keys": list(keys) or None}]
    given = {"resources": resources, "include_synonyms": True}
    NAMED_CONFIGS.append(Case(name, "describe_configs", (4,), given))


def names(name: str, *kinds: int) -> None:
    NAMED_CONFIGS.append(Case(name, "list_config_resources", (1,), {"resource_types": list(kinds)}))


show("group: never set", GROUP, "g")
alter("group: set", GROUP, "g", (SESSION, SET, "50000"))
show("group: is seen", GROUP, "g")
show("group: one key is seen", GROUP, "g", SESSION)
names("group: is listed", GROUP)
for key, values in {
    SESSION: ("1", "x", "1000000", "44999", "60001", "50000"),
    HEARTBEAT: ("0", "4999", "5000", "15000", "15001"),
    "consumer.assignment.interval.ms": ("-1", "0", "15001"),
    RESET: (
        "earliest", "Earliest", "by_duration:P1D", "by_duration:PT1H30M", "by_duration:pt1.5s",
        "by_duration:P", "by_duration:PT", "by_duration:P1DT", "by_duration:1D", "nope", "",
    ),
    "share.isolation.level": ("read_committed", "READ_COMMITTED", "x"),
    "share.renew.acknowledge.enable": ("maybe", "FALSE"),
    "share.delivery.count.limit": ("1", "2", "11"),
    "share.partition.max.record.locks": ("99", "4001"),
    "share.record.lock.duration.ms": ("1", "14999", "60001"),
    "streams.num.standby.replicas": ("-1", "2", "3"),
    "streams.initial.rebalance.delay.ms": ("-1", "0"),
    "streams.num.warmup.replicas": ("-1", "21", "20"),
    "streams.task.offset.interval.ms": ("14999", "15000"),
    "streams.assignor.name": ("x", "", "sticky", " sticky "),
    "streams.rack.aware.assignment.tags": ("a,b,a", "a, a", "a,,b", "zone, rack"),
    "errors.deadletterqueue.topic.name": ("__x", "a/b", "letters"),
    "no.such.key": ("1",),
}.items():  # fmt: skip
    for value in values:
        alter(f"group: {key}={value!r}", GROUP, "many", (key, SET, value))
for key, value in ((SESSION, " 50000 "), (RESET, " latest")):  # Kafka's lists leave out a group that has a blank
    alter(f"group: {key}={value!r}", GROUP, "many", (key, SET, value), validate_only=True)
show("group: what was taken", GROUP, "many")
alter("group: two, one is wrong", GROUP, "g", (SESSION, SET, "46000"), (HEARTBEAT, SET, "x"))
show("group: nothing of the two", GROUP, "g", SESSION)
alter("group: only checked", GROUP, "checked", (SESSION, SET, "50000"), validate_only=True)
alter("group: only checked, wrong", GROUP, "checked", (SESSION, SET, "5"), validate_only=True)
names("group: the one that was checked is not there", GROUP)
alter("group: append", GROUP, "g", (SESSION, APPEND, "1"))
alter("group: null", GROUP, "g", (SESSION, SET, None))
alter("group: one key twice", GROUP, "g", (SESSION, SET, "46000"), (SESSION, SET, "47000"))
alter("group: delete what is not set", GROUP, "other", (SESSION, DELETE, None))
alter("group: delete", GROUP, "g", (SESSION, DELETE, None))
show("group: is gone", GROUP, "g", SESSION)
names("group: those that have something", GROUP)
replace("group: replace", GROUP, "r", (SESSION, "50000"), (HEARTBEAT, "6000"))
replace("group: replace with another", GROUP, "r", (HEARTBEAT, "7000"))
show("group: replaced", GROUP, "r", SESSION, HEARTBEAT)
replace("group: replace with nothing", GROUP, "r")
for odd in (".", "..", "é/ü %", "g" * 300):
    alter(f"group: {odd[:10]}", GROUP, odd, (HEARTBEAT, SET, "6000"))
    show(f"group: {odd[:10]} is seen", GROUP, odd, HEARTBEAT)
names("group: odd names", GROUP)

show("metrics: never set", METRICS, "m")
alter("metrics: set", METRICS, "m", ("interval.ms", SET, "100"), ("metrics", SET, "org.apache.kafka.,x"))
for key, values in {
    "interval.ms": ("99", "3600000", "3600001", "x", ""),
    "metrics": ("", "*", "a b"),
    "match": ("", "client_id=a.*,client_software_name=b", "foo=a", "client_id=(", "client_id", "client_id=a=b", "=a",
              "client_instance_id=x,client_source_address=1.2.3.4,client_source_port=1,client_software_version=1"),
    "no.such.key": ("1",),
}.items():  # fmt: skip
    for value in values:
        alter(f"metrics: {key}={value!r}", METRICS, "many", (key, SET, value))
show("metrics: what was taken", METRICS, "many")
show("metrics: is seen", METRICS, "m")
show("metrics: one key is seen", METRICS, "m", "metrics")
alter("metrics: append", METRICS, "m", ("metrics", APPEND, "y"))
alter("metrics: subtract", METRICS, "m", ("metrics", SUBTRACT, "x"))
alter("metrics: no name", METRICS, "", ("interval.ms", SET, "1000"))
names("metrics: listed", METRICS)
alter("metrics: delete", METRICS, "m", ("interval.ms", DELETE, None), ("metrics", DELETE, None))
names("metrics: those that have something", METRICS)
names("both", METRICS, GROUP)
