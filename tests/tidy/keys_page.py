"""Writes ``docs/configuration-keys.md`` out of the tables of keys (``make docs``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidy.sources import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkastore.config.definitions import ConfigKey

PAGE = ROOT / "docs" / "configuration-keys.md"

HEAD = """\
# Every key

Made by `make docs` from the tables in `python/kafkastore/config/`. What those with an effect do is in
[configuration.md](configuration.md).

- **yes**: does what it does in Kafka, or what [configuration-effect.md](configuration-effect.md) says.
- **no**: taken, checked, shown by DescribeConfigs, and nothing changes. One line at the start names those that a file
  sets.
- **refused**: asks for a protection that is not there. Any value but the default refuses the start, and so do such keys
  of one listener (`listener.name.<name>.…`).

The authorizer has two more keys, which Kafka's tables do not have: `super.users` and `allow.everyone.if.no.acl.found`
([acls.md](acls.md)).

"""


def page() -> str:
    from kafkastore.config.definitions import broker_keys, topic_keys
    from kafkastore.config.effect import TOPIC_KEYS_WITHOUT_EFFECT, asks_for_protection, has_effect

    def of_broker(name: str) -> str:
        return "refused" if asks_for_protection(name) else "yes" if has_effect(name) else "no"

    def of_topic(name: str) -> str:
        return "no" if name in TOPIC_KEYS_WITHOUT_EFFECT else "yes"

    broker = _table((key, of_broker(key.name)) for key in broker_keys().values() if not key.is_internal)
    topic = _table((key, of_topic(key.name)) for key in topic_keys().values() if not key.is_internal)
    return f"{HEAD}## Topics\n\n{topic}\n## Brokers\n\n{broker}"


def _table(rows: Iterable[tuple[ConfigKey, str]]) -> str:
    lines = ["| key | type | default | effect |", "|---|---|---|---|"]
    for key, effect in rows:
        default = "" if key.default is None else f"`{key.default}`" if key.default else "empty"
        lines.append(f"| `{key.name}` | {key.type} | {default} | {effect} |")
    return "\n".join(lines) + "\n"
