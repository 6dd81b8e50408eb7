"""``kafka-configs``: what is configured, and changes of it, as Kafka's ConfigCommand: topics, brokers, loggers, groups,
client metrics; ``configs_clients.py`` has users, clients and addresses.
"""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from kafkastore.cli.kafka import configs_clients as clients
from kafkastore.cli.kafka.configs_command import ConfigCommand, ConfigCommandError, Entity
from kafkastore.cli.kafka.flags import Flags, FlagsError, is_given
from kafkastore.cli.kafka.java_order import hash_order
from kafkastore.cli.kafka.run import ask, say
from kafkastore.cli.profiles import HIDDEN
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    import argparse

    from kafkastore.admin.admin_client import AdminClient
    from kafkastore.admin.configs import ConfigEntry, ConfigResource

PURPOSE: Final = (
    "This tool helps to manipulate and describe entity config for a topic, client, user, broker, ip, client-metrics or "
    "group"
)
RESOURCES: Final = {"topics": 2, "brokers": 4, "broker-loggers": 8, "client-metrics": 16, "groups": 32}
"""The types of entity that are resources, with Kafka's numbers of their types."""
CLIENTS: Final = ("users", "clients", "ips")
TYPES: Final = ("broker-loggers", "topics", "clients", "users", "brokers", "ips", "client-metrics", "groups")
NAMED: Final = {
    "topic": "topics",
    "client": "clients",
    "user": "users",
    "broker": "brokers",
    "broker_logger": "broker-loggers",
    "ip": "ips",
    "client_metrics": "client-metrics",
    "group": "groups",
}
DEFAULTS: Final = {
    "client_defaults": "clients",
    "user_defaults": "users",
    "broker_defaults": "brokers",
    "ip_defaults": "ips",
}
"""Flags that name an entity, or the default of a type, with the type."""
PASSWORD: Final = re.compile(r"(password=).*", re.DOTALL)
"""To the end of the argument: a password may have any character."""
OUTSIDE_BRACKETS: Final = r"(?=[^\]]*(?:\[|$))"
KEY: Final = re.compile(r"[$a-zA-Z0-9._-]*")


def _flags() -> Flags:
    flags = Flags("kafka-configs", PURPOSE)
    flags.add("--bootstrap-server", "HOST:PORT", help="Brokers to begin with.")
    flags.add("--bootstrap-controller", "HOST:PORT", help="Not here: brokers answer for controllers.")
    flags.add("--command-config", "FILE", help="A client.properties.")
    flags.add("--alter", is_switch=True, help="Change the configuration.")
    flags.add("--describe", is_switch=True, help="Show the configuration.")
    flags.add("--all", is_switch=True, help="Show what is not set for the entity, too.")
    flags.add("--entity-type", "TYPE", is_repeated=True, help=", ".join(TYPES))
    flags.add_argument("--entity-name", dest="entity_names", metavar="NAME", action="append", help="Of the type.")
    flags.add_argument(
        "--entity-default", dest="entity_names", action="append_const", const="", help="The default of the type."
    )
    flags.add("--add-config", "K1=V1,K2=[V1,V2]", help="Set keys.")
    flags.add("--add-config-file", "FILE", help="Set the keys of a properties file.")
    flags.add("--delete-config", "K1,K2", is_repeated=True, help="Remove keys.")
    for name, kind in NAMED.items():
        flags.add(f"--{name.replace('_', '-')}", "NAME", help=f"One of the {kind}.")
    for name, kind in DEFAULTS.items():
        flags.add(f"--{name.replace('_', '-')}", is_switch=True, help=f"The default of {kind}.")
    return flags


FLAGS: Final = _flags()


def main(arguments: list[str]) -> int:
    given = FLAGS.asked(arguments)
    if given.alter == given.describe:
        raise FlagsError("Command must include exactly one action: --describe, --alter")
    FLAGS.forbid(given, "describe", "add-config", "delete-config")
    try:
        command = _command(given)
        run = _alter if given.alter else _describe
        ask(given.bootstrap_server, given.command_config, lambda client: run(client, command))
    except ConfigCommandError as error:
        sys.stderr.write(f"{error.client_message}\n")
        return 1
    except KafkastoreError as error:
        shown = " ".join(PASSWORD.sub(rf"\1{HIDDEN}", one) for one in arguments)
        sys.stderr.write(f"Error while executing config command with args '{shown}'\n")
        java_class = getattr(error, "java_class", None)
        sys.stderr.write(f"{f'org.apache.kafka.common.errors.{java_class}: ' if java_class else ''}{error}\n")
        return 1
    return 0


# ---- what is asked
def _command(given: argparse.Namespace) -> ConfigCommand:
    """Raises ConfigCommandError."""
    if given.bootstrap_controller is not None:
        raise ConfigCommandError("--bootstrap-controller: brokers answer for controllers; give --bootstrap-server")
    if given.bootstrap_server is None:
        raise ConfigCommandError("Either --bootstrap-server or --bootstrap-controller must be specified.")
    of_types = [
        *(given.entity_type or ()),
        *(kind for one, kind in {**NAMED, **DEFAULTS}.items() if is_given(given, one)),
    ]
    names = [
        *(given.entity_names or ()),
        *(getattr(given, one) for one in NAMED if is_given(given, one)),
        *("" for one in DEFAULTS if is_given(given, one)),
    ]
    _check_entities(given, of_types, names)
    entities = [Entity(kind, names[at] if at < len(names) else None) for at, kind in enumerate(of_types)]
    if len(names) > len(of_types):
        raise ConfigCommandError("More entity names specified than entity types")
    added = _added(given) if given.alter else {}
    removed = [key.strip() for one in given.delete_config or () for key in one.split(",")]
    if given.alter and any(one.name is None for one in entities):
        raise ConfigCommandError("An entity name must be specified for every entity type")
    return ConfigCommand(entities, added, removed, given.all)


def _check_entities(given: argparse.Namespace, of_types: list[str], names: list[str]) -> None:
    """Raises ConfigCommandError."""
    twice = [kind for at, kind in enumerate(of_types) if kind in of_types[:at]]
    if twice:
        raise ConfigCommandError(f"Duplicate entity type(s) specified: {','.join(twice)}")
    for kind in of_types:
        if kind not in TYPES:
            raise ConfigCommandError(
                f"Invalid entity type {kind}, the entity type must be one of {', '.join(TYPES)} with a "
                "--bootstrap-server or --bootstrap-controller argument"
            )
    if not of_types:
        raise ConfigCommandError("At least one entity type must be specified")
    if len(of_types) > 1 and set(of_types) != {"users", "clients"}:
        raise ConfigCommandError("Only 'users' and 'clients' entity types may be specified together")
    if (given.entity_type or given.entity_names) and any(is_given(given, one) for one in {**NAMED, **DEFAULTS}):
        raise ConfigCommandError(
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags"
        )
    _check_names(given, of_types, names)


def _check_names(given: argparse.Namespace, of_types: list[str], names: list[str]) -> None:
    """Raises ConfigCommandError."""
    kind, shown = of_types[0], ",".join(of_types)
    for name in filter(None, names):
        if kind in ("brokers", "broker-loggers") and not re.fullmatch(r"[+-]?\d+", name):
            raise ConfigCommandError(f"The entity name for {kind} must be a valid integer broker id, but it is: {name}")
        if kind == "ips":
            clients.check_address(name)
    has_default = kind in (*CLIENTS, "brokers")
    if given.describe:
        if not has_default and given.entity_names and "" in given.entity_names:
            raise ConfigCommandError(f"--entity-default must not be specified with --describe of {shown}")
        if kind == "broker-loggers" and not any(names):
            raise ConfigCommandError(f"An entity name must be specified with --describe of {shown}")
        return
    if has_default and not names:
        raise ConfigCommandError(
            "An entity-name or default entity must be specified with --alter of users, clients, brokers or ips"
        )
    if not has_default and not any(names):
        raise ConfigCommandError(f"An entity name must be specified with --alter of {shown}")
    if given.add_config is not None and given.add_config_file is not None:
        raise ConfigCommandError("Only one of --add-config or --add-config-file must be specified")
    if given.add_config is None and given.add_config_file is None and not given.delete_config:
        raise ConfigCommandError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )


def _added(given: argparse.Namespace) -> dict[str, str]:
    """What is to be set. Raises ConfigCommandError."""
    found = {}
    if given.add_config_file is not None:
        from kafkastore.config.properties import read_properties

        try:
            found = read_properties(given.add_config_file)
        except (OSError, ValueError) as error:
            raise ConfigCommandError(f"--add-config-file {given.add_config_file} cannot be read: {error}") from None
    elif given.add_config is not None:
        for one in re.split(f",{OUTSIDE_BRACKETS}", given.add_config.rstrip(",")):
            pair = re.split(rf"\s*=\s*{OUTSIDE_BRACKETS}", one)
            if len(pair) != 2:
                raise ConfigCommandError(
                    'Invalid entity config: all configs to be added must be in the format "key=val" or  '
                    '"key=[val1,val2]" to group values which contain commas.'
                )
            found[pair[0].strip()] = re.sub(r"[\[\]]", "", pair[1]).strip()
    for key in found:
        if not KEY.fullmatch(key):
            raise ConfigCommandError(f"Invalid character found for config key: {key}")
    return found


# ---- changes
async def _alter(client: AdminClient, command: ConfigCommand) -> None:
    entity = command.entities[0]
    if entity.type in CLIENTS:
        await clients.alter(client, command)
    else:
        await _alter_resource(client, command)
    if entity.name:
        say(f"Completed updating config for {entity.type[:-1]} {entity.name}.")
    else:
        say(f"Completed updating default config for {entity.type} in the cluster.")


async def _alter_resource(client: AdminClient, command: ConfigCommand) -> None:
    """Raises KafkaError, ConfigCommandError."""
    from kafkastore.admin.configs import BROKER_LOGGER, DELETE, ConfigChange, ConfigResource, alter_configs

    entity = command.entities[0]
    resource = ConfigResource(RESOURCES[entity.type], entity.name or "")
    if resource.kind == BROKER_LOGGER:
        known = {one.name for one in await _entries(client, resource)}
        wrong = [one for one in (*command.removed, *command.added) if one not in known]
        if wrong:
            raise ConfigCommandError(f"Invalid broker logger(s): {','.join(wrong)}")
    changes = [ConfigChange(name, value) for name, value in command.added.items()]
    changes += [ConfigChange(name, "", DELETE) for name in command.removed]
    for error in (await alter_configs(client, {resource: changes})).values():
        raise error


# ---- describe
async def _describe(client: AdminClient, command: ConfigCommand) -> None:
    if command.entities[0].type in CLIENTS:
        await clients.describe(client, command)
        return
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.configs import ConfigResource, describe_configs

    entity = command.entities[0]
    names = await _names(client, entity)
    if not names:
        return
    resources = [ConfigResource(RESOURCES[entity.type], name) for name in names]
    found = await describe_configs(client, resources, has_synonyms=True)
    for resource in resources:
        entries = found[resource]
        if isinstance(entries, KafkaError):
            raise entries
        _print_resource(entity.type, resource, entries, is_all=command.is_all)


async def _names(client: AdminClient, entity: Entity) -> list[str]:
    """Of the entities to describe; none, and a sentence for it, when that which was named does not exist."""
    from kafkastore.topic_names import validate_topic_name

    if entity.type == "topics" and entity.name is not None:
        validate_topic_name(entity.name)
    if entity.name == "":
        return [""]
    there = await _there(client, entity.type)
    if entity.name is None:
        return [*there, ""] if entity.type == "brokers" else there
    if entity.name in there:
        return [entity.name]
    say(f"The {entity.type[:-1]} '{entity.name}' doesn't exist and doesn't have dynamic config.")
    return []


async def _there(client: AdminClient, kind: str) -> list[str]:
    from kafkastore.admin.configs import GROUP, list_config_resources
    from kafkastore.interbroker.cluster import UnsupportedApiError

    if kind == "topics":
        return hash_order(await list_config_resources(client, RESOURCES[kind]))
    if RESOURCES[kind] != GROUP:
        return await list_config_resources(client, RESOURCES[kind])
    found = set()
    for answer in (await client.of_every_broker("ListGroups", {})).values():
        found |= {row.group_id for row in answer.groups}
    with suppress(UnsupportedApiError):
        found |= set(await list_config_resources(client, GROUP))
    return sorted(found)


async def _entries(client: AdminClient, resource: ConfigResource) -> tuple[ConfigEntry, ...]:
    """Raises KafkaError."""
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.configs import describe_configs

    found = (await describe_configs(client, [resource]))[resource]
    if isinstance(found, KafkaError):
        raise found
    return found


def _print_resource(kind: str, resource: ConfigResource, entries: Any, *, is_all: bool) -> None:
    from kafkastore.admin.configs import SOURCES

    if resource.name:
        say(f"{'All' if is_all else 'Dynamic'} configs for {kind[:-1]} {resource.name} are:")
    else:
        say(f"Default configs for {kind} in the cluster are:")
    for one in sorted(entries, key=lambda entry: entry.name):
        if is_all or one.source == resource.own_source:
            synonyms = ", ".join(
                f"{SOURCES.get(synonym.source, 'UNKNOWN')}:{synonym.name}={_text(synonym.value)}"
                for synonym in one.synonyms
            )
            sensitive = str(one.is_sensitive).lower()
            say(f"  {one.name}={_text(one.value)} sensitive={sensitive} synonyms={{{synonyms}}}")


def _text(value: str | None) -> str:
    return "null" if value is None else value
