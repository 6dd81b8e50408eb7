"""Writes ``docs/apis.md`` out of the registry and the ranges of Apache Kafka 4.4 (``make docs``)."""

from __future__ import annotations

import csv
from typing import NamedTuple

from tidy.sources import ROOT

PAGE = ROOT / "docs" / "apis.md"
KAFKA = ROOT / "tests" / "fixtures" / "apis" / "kafka-4.4.0.tsv"

HEAD = """\
# APIs and versions

Made by `make docs` from `python/kafkastore/requests/registry.py`, which is also what dispatch and ApiVersions use. The
ranges of Apache Kafka 4.4.0 are in `tests/fixtures/apis/`. A test fails when this page is out of date.

## Served

"""

NOTES = """
- The versions before those of Apache Kafka 4.4 are for clients of 2015 to 2017 (KIP-896). With
  `log.message.format.legacy.enable=false` they are neither advertised nor served, as in Apache Kafka 4.
- Produce is advertised from 0 even then, as Apache Kafka does, because older librdkafka turns compression off otherwise
  (KAFKA-18659). Versions 0 to 2 are refused then when they come.
- Metadata is answered by the data plane. It goes through `handlers/metadata.py` first when it names a topic that has to
  be created.
- FindCoordinator and InitProducerId are answered by the data plane from the published state. They go to their handlers
  when the topic of the coordinators has to be created, a coordinator is not there, or no producer id is left.
- "Flexible from" is the first version with compact lengths and tagged fields (KIP-482).
- Another version of ApiVersions is answered with a version 0 body and error 35 (KIP-511). Any other API or version
  closes the connection and costs one log line. Both are what Apache Kafka does.
- SaslHandshake (0-1) and SaslAuthenticate (0-2) are served by the data plane, and advertised where a listener has SASL.
- AdoptSegments (27000) is an API of our own, which ApiVersions lists, too ([bulk-load.md](bulk-load.md)).

## Not served

What a broker of Apache Kafka 4.4 serves beside these. None of them is advertised, so clients do not ask.

"""

TAIL = """
APIs that only controllers serve are left out.
"""

GROUPS = (
    ("clusters", (64, 80, 81, 94)),
    ("consumer protocol (KIP-848)", (68, 69)),
    ("client telemetry (KIP-714)", (71, 72)),
    ("share groups (KIP-932)", (*range(76, 80), *range(83, 88), *range(90, 93))),
    ("streams groups (KIP-1071)", (88, 89, 93)),
)
"""What an API that is not served belongs to."""


class KafkaApi(NamedTuple):
    key: int
    name: str
    versions: str
    is_broker: bool


def kafka_apis() -> list[KafkaApi]:
    with KAFKA.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [
        KafkaApi(
            int(row["key"]),
            row["name"],
            row["min"] if row["min"] == row["max"] else f"{row['min']}-{row['max']}",
            "broker" in row["listeners"].split(","),
        )
        for row in rows
    ]


def page() -> str:
    from kafkastore.requests.registry import AUTHENTICATION_APIS, BY_KEY, markdown_table

    theirs = kafka_apis()
    authentication = {api.key for api in AUTHENTICATION_APIS}
    subjects = {key: subject for subject, keys in GROUPS for key in keys}
    lines = ["| key | API | Apache Kafka 4.4 | belongs to |", "|---|---|---|---|"]
    lines += [
        f"| {api.key} | {api.name} | {api.versions} | {subjects[api.key]} |"
        for api in theirs
        if api.is_broker and api.key not in BY_KEY and api.key not in authentication
    ]
    served = markdown_table({api.key: api.versions for api in theirs})
    return HEAD + served + NOTES + "\n".join(lines) + "\n" + TAIL
