"""Topic configurations out of Kafka's metadata log (KIP-631 records, written here by their grammar)."""

from __future__ import annotations

from fake_engine import Engine

from kafkastore.metadata.kafka_metadata_log import read_topic_configs

TOPIC_ID = bytes(range(16))


def compact(text: str | None) -> bytes:
    return b"\0" if text is None else bytes([len(text) + 1]) + text.encode()


def config_record(resource: int, name: str, key: str, value: str | None) -> bytes:
    return b"\x01\x04\x00" + bytes([resource]) + compact(name) + compact(key) + compact(value) + b"\0"


def read(*values: bytes | None) -> dict[str, dict[str, str]]:
    engine = Engine(1, "c", ["/d"], {})
    log = engine.add_log("__cluster_metadata", 0)
    log.records = [(offset, 0, None, value, False) for offset, value in enumerate(values)]
    try:
        return read_topic_configs(engine)
    finally:
        engine.close()


def test_last_value_of_each_topic_config_counts() -> None:
    assert read(
        b"\x01\x02\x00" + compact("t") + TOPIC_ID + b"\0",
        config_record(2, "t", "retention.ms", "1"),
        config_record(2, "t", "cleanup.policy", "compact"),
        config_record(2, "t", "retention.ms", "2"),
        config_record(2, "t", "cleanup.policy", None),
        config_record(4, "1", "log.retention.ms", "9"),
    ) == {"t": {"retention.ms": "2"}}


def test_removed_topic_has_none() -> None:
    created = b"\x01\x02\x00" + compact("t") + TOPIC_ID + b"\0"
    removed = b"\x01\x09\x00" + TOPIC_ID + b"\0"
    assert read(created, config_record(2, "t", "retention.ms", "1"), removed) == {}


def test_what_cannot_be_understood_is_skipped() -> None:
    assert read(b"\x01", None, b"\x01\x04\x00\x02\x7f", b"\x00\x63\x00abc", config_record(2, "t", "a", "b")) == {
        "t": {"a": "b"}
    }


def test_directory_without_the_log_has_none() -> None:
    engine = Engine(1, "c", ["/d"], {})
    assert read_topic_configs(engine) == {}
    engine.close()
