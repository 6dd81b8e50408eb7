"""``kafka-client-metrics``: subscriptions of client metrics, as Kafka's ClientMetricsCommand."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

from kafkastore.cli.kafka.flags import Flags, FlagsError
from kafkastore.cli.kafka.java_order import hash_order
from kafkastore.cli.kafka.run import ask, log_error, say
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from kafkastore.admin.admin_client import AdminClient
    from kafkastore.admin.configs import ConfigChange, ConfigEntry

PURPOSE: Final = "This tool helps to manipulate and describe client metrics configurations."
LOGGER: Final = "org.apache.kafka.tools.ClientMetricsCommand"
ACTIONS: Final = ("alter", "delete", "describe", "list")
KEYS: Final = {"interval": "interval.ms", "metrics": "metrics", "match": "match"}
"""The configuration that a flag sets."""


def _flags() -> Flags:
    flags = Flags("kafka-client-metrics", PURPOSE)
    flags.add("--bootstrap-server", "HOST:PORT", help="REQUIRED: brokers to begin with.")
    flags.add("--command-config", "FILE", help="A client.properties.")
    flags.add("--alter", is_switch=True, help="Make or change a subscription.")
    flags.add("--delete", is_switch=True, help="Delete a subscription.")
    flags.add("--describe", is_switch=True, help="Show one subscription, or all.")
    flags.add("--list", is_switch=True, help="Names of subscriptions.")
    flags.add("--name", "NAME", help="The subscription.")
    flags.add("--generate-name", is_switch=True, help="Give the subscription an id as its name.")
    flags.add("--interval", "MS", help='How often clients push; "" for the default.')
    flags.add("--match", "K1=V1,K2=V2", is_repeated=True, help="Which clients: client_id, client_source_address, ...")
    flags.add("--metrics", "M1,M2", is_repeated=True, help="Prefixes of the names of metrics.")
    return flags


FLAGS: Final = _flags()


def main(arguments: list[str]) -> int:
    given = FLAGS.asked(arguments)
    why = _why_not(given)
    if why:
        sys.stderr.write(f"{why}\n")
        return 1
    run = _alter if given.alter else _delete if given.delete else _describe if given.describe else _list
    try:
        ask(given.bootstrap_server, given.command_config, lambda client: run(client, given))
    except KafkastoreError as error:
        say(f"Error while executing client metrics command : {error.client_message}")
        log_error(str(error), LOGGER)
        return 1
    return 0


def _why_not(given: argparse.Namespace) -> str | None:
    """What is wrong with the command line. Raises FlagsError."""
    if sum(getattr(given, one) for one in ACTIONS) != 1:
        raise FlagsError("Command must include exactly one action: --alter, --delete, --describe or --list.")
    if given.bootstrap_server is None:
        return "--bootstrap-server must be specified."
    for action in ("delete", "describe", "list"):
        FLAGS.forbid(given, action, "generate-name", "interval", "match", "metrics")
    FLAGS.forbid(given, "list", "name")
    if given.alter and (given.name is None) != given.generate_name:
        return "One of --name or --generate-name must be specified with --alter."
    if given.interval and not re.fullmatch(r"[+-]?\d+", given.interval):
        return "Invalid interval value. Enter an integer, or leave empty to reset."
    if given.delete and given.name is None:
        return "A client metrics resource name must be specified with --delete."
    return None


async def _alter(client: AdminClient, given: argparse.Namespace) -> None:
    from kafkastore.admin.configs import DELETE, SET, ConfigChange
    from kafkastore.metadata.nodes import new_id, topic_id_text

    name = topic_id_text(new_id()) if given.generate_name else given.name
    changes = []
    for flag, key in KEYS.items():
        value = getattr(given, flag)
        if value is not None:
            text = value if isinstance(value, str) else ",".join(value)
            changes.append(ConfigChange(key, text, SET if text else DELETE))
    await _change(client, name, changes)
    say(f"Altered client metrics config for {name}.")


async def _delete(client: AdminClient, given: argparse.Namespace) -> None:
    from kafkastore.admin.configs import DELETE, ConfigChange

    entries = await _entries(client, given.name)
    await _change(client, given.name, [ConfigChange(one.name, "", DELETE) for one in entries])
    say(f"Deleted client metrics config for {given.name}.")


async def _describe(client: AdminClient, given: argparse.Namespace) -> None:
    from kafkastore.admin.configs import CLIENT_METRICS, list_config_resources

    there = await list_config_resources(client, CLIENT_METRICS)
    if given.name is not None and given.name not in there:
        say(f"The client metric resource {given.name} doesn't exist and doesn't have dynamic config.")
        return
    for name in there if given.name is None else [given.name]:
        say(f"Client metrics configs for {name} are:")
        values = {one.name: one.value for one in await _entries(client, name)}
        for key in hash_order(values):
            say(f"  {key}={'null' if values[key] is None else values[key]}")


async def _list(client: AdminClient, _: argparse.Namespace) -> None:
    from kafkastore.admin.configs import CLIENT_METRICS, list_config_resources

    say("\n".join(await list_config_resources(client, CLIENT_METRICS)))


async def _change(client: AdminClient, name: str, changes: Sequence[ConfigChange]) -> None:
    """Raises KafkaError."""
    from kafkastore.admin.configs import CLIENT_METRICS, ConfigResource, alter_configs

    for error in (await alter_configs(client, {ConfigResource(CLIENT_METRICS, name): changes})).values():
        raise error


async def _entries(client: AdminClient, name: str) -> tuple[ConfigEntry, ...]:
    """Raises KafkaError."""
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.configs import CLIENT_METRICS, ConfigResource, describe_configs

    resource = ConfigResource(CLIENT_METRICS, name)
    found = (await describe_configs(client, [resource]))[resource]
    if isinstance(found, KafkaError):
        raise found
    return found
