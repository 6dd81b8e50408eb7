"""``kafka-acls``: lists, adds and removes access control lists, as Kafka's AclCommand."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

from kafkastore.cli.kafka.flags import Flags, FlagsError
from kafkastore.cli.kafka.run import ask, say
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from kafkastore.acl_words import AccessControlEntry, AclBindingFilter, ResourcePattern
    from kafkastore.admin.admin_client import AdminClient

    Entries = dict[ResourcePattern, list[AccessControlEntry]]

PURPOSE: Final = "This tool helps to manage acls on kafka."
ACTIONS: Final = ("add", "remove", "list")
PATTERN_TYPES: Final = {"ANY": 1, "MATCH": 2, "LITERAL": 3, "PREFIXED": 4}
RESOURCE_FLAGS: Final = {
    "topic": "Topic",
    "group": "Group",
    "transactional_id": "TransactionalId",
    "delegation_token": "DelegationToken",
    "user_principal": "User",
}
NO_RESOURCE: Final = (
    "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or --delegation-token "
    "<Delegation Token ID>"
)


def _flags() -> Flags:
    flags = Flags("kafka-acls", PURPOSE)
    flags.add("--bootstrap-server", "HOST:PORT", help="Brokers to begin with.")
    flags.add("--bootstrap-controller", "HOST:PORT", help="Not here: brokers answer for controllers.")
    flags.add("--command-config", "FILE", is_optional=True, help="A client.properties.")
    flags.add("--add", is_switch=True, help="Add ACLs.")
    flags.add("--remove", is_switch=True, help="Remove ACLs.")
    flags.add("--list", is_switch=True, help="List ACLs, all or those of the resources.")
    for name in RESOURCE_FLAGS:
        flags.add(f"--{name.replace('_', '-')}", "NAME", is_repeated=True, help="A resource; '*' is every one.")
    flags.add("--cluster", is_switch=True, help="The cluster as a resource.")
    flags.add("--resource-pattern-type", "TYPE", default="LITERAL", help=", ".join(PATTERN_TYPES).lower())
    flags.add("--operation", "NAME", is_repeated=True, help="What is allowed or denied. [All]")
    flags.add("--allow-principal", "TYPE:NAME", is_repeated=True, help="Whom it is allowed.")
    flags.add("--deny-principal", "TYPE:NAME", is_repeated=True, help="Whom it is denied, whatever else allows it.")
    flags.add("--principal", "TYPE:NAME", is_repeated=True, help="List the ACLs of these alone.")
    flags.add("--allow-host", "ADDRESS", is_repeated=True, help="From where it is allowed. [everywhere]")
    flags.add("--deny-host", "ADDRESS", is_repeated=True, help="From where it is denied. [everywhere]")
    flags.add("--producer", is_switch=True, help="What a producer needs: Write, Describe and Create on the topics.")
    flags.add("--consumer", is_switch=True, help="What a consumer needs: Read and Describe on topics, Read on groups.")
    flags.add("--idempotent", is_switch=True, help="With --producer: IdempotentWrite on the cluster, too.")
    flags.add("--force", is_switch=True, help="Ask nothing.")
    return flags


FLAGS: Final = _flags()


class AclCommandError(KafkastoreError):
    """What is refused with a sentence on stdout, as what a broker refuses."""


def main(arguments: list[str]) -> int:
    given = FLAGS.asked(arguments)
    _check(given)
    run = _add if given.add else _remove if given.remove else _list
    try:
        _check_words(given)
        ask(given.bootstrap_server, given.command_config or None, lambda client: run(client, given))
    except KafkastoreError as error:
        java_class = getattr(error, "java_class", None)
        package = f"org.apache.kafka.common.errors.{java_class}: " if java_class else ""
        say(f"Error while executing ACL command: {package}{error.client_message}")
        return 1
    return 0


def _check(given: argparse.Namespace) -> None:
    if given.bootstrap_controller is not None:
        raise FlagsError("--bootstrap-controller: brokers answer for controllers; give --bootstrap-server")
    if given.bootstrap_server is None:
        raise FlagsError("One of --bootstrap-server or --bootstrap-controller must be specified")
    if sum(getattr(given, one) for one in ACTIONS) != 1:
        raise FlagsError("Command must include exactly one action: --list, --add, --remove. ")
    FLAGS.forbid(given, "list", "producer", "consumer", "allow-host", "allow-principal", "deny-host", "deny-principal")
    for role in ("producer", "consumer"):
        FLAGS.forbid(given, role, "operation", "deny-principal", "deny-host")
    if given.principal is not None and not given.list:
        raise FlagsError("The --principal option is only available if --list is set")
    if given.producer and given.topic is None:
        raise FlagsError("With --producer you must specify a --topic")
    if given.idempotent and not given.producer:
        raise FlagsError("The --idempotent option is only available if --producer is set")
    is_producers = given.cluster or given.transactional_id is not None
    if given.consumer and (given.topic is None or given.group is None or (not given.producer and is_producers)):
        raise FlagsError(
            "With --consumer you must specify a --topic and a --group and no --cluster or --transactional-id option "
            "should be specified."
        )


def _check_words(given: argparse.Namespace) -> None:
    """Raises AclCommandError, FlagsError."""
    if given.resource_pattern_type.upper() not in PATTERN_TYPES:
        raise AclCommandError(f"Cannot parse argument '{given.resource_pattern_type}' of option resource-pattern-type")
    for one in (*(given.allow_principal or ()), *(given.deny_principal or ()), *(given.principal or ())):
        kind, colon, name = one.strip().partition(":")
        if not (kind and colon and name):
            raise AclCommandError(f"expected a string in format principalType:principalName but got {one}")


# ---- the actions
async def _add(client: AdminClient, given: argparse.Namespace) -> None:
    from kafkastore.acl_words import LITERAL, PREFIXED
    from kafkastore.admin.acls import create_acls, list_acls

    if PATTERN_TYPES[given.resource_pattern_type.upper()] not in (LITERAL, PREFIXED):
        kind = given.resource_pattern_type.upper()
        raise FlagsError(f"A '--resource-pattern-type' value of '{kind}' is not valid when adding acls.")
    wanted = _wanted(given)
    if not all(wanted.values()):
        raise FlagsError("You must specify one of: --allow-principal, --deny-principal when trying to add ACLs.")
    there = {binding for pattern in wanted for binding in await list_acls(client, _filter(pattern))}
    for pattern, entries in wanted.items():
        for entry in entries:
            if (pattern, entry) in there:
                say(f"Acl (pattern={_pattern(pattern)}, entry={_entry(entry)}) already exists.")
        added = [entry for entry in entries if (pattern, entry) not in there]
        if added:
            say(f"Adding ACLs for resource `{_pattern(pattern)}`: \n {_lines(added)}\n")
            for error in (await create_acls(client, [(pattern, entry) for entry in added])).values():
                raise error


async def _remove(client: AdminClient, given: argparse.Namespace) -> None:
    from kafkastore.admin.acls import delete_acls, filter_of

    for pattern, entries in _wanted(given).items():
        shown = f"resource filter `{_pattern(pattern)}`? (y/n)"
        if entries:
            question = f"Are you sure you want to remove ACLs: \n {_lines(entries)}\n from {shown}"
        else:
            question = f"Are you sure you want to delete all ACLs for {shown}"
        if given.force or _is_confirmed(question):
            filters = [filter_of((pattern, entry)) for entry in entries] or [_filter(pattern)]
            for error in (await delete_acls(client, filters))[1].values():
                raise error


def _is_confirmed(question: str) -> bool:
    """Raises AclCommandError when nobody answers."""
    say(question)
    sys.stdout.flush()
    answer = sys.stdin.readline()
    if not answer:
        raise AclCommandError("nobody answers; give --force to ask nothing")
    return answer.strip().lower() == "y"


async def _list(client: AdminClient, given: argparse.Namespace) -> None:
    from kafkastore.admin.acls import EVERY_ACL, grouped, list_acls

    patterns = _resources(given)
    filters = [_filter(pattern) for pattern in patterns] or [EVERY_ACL]
    found = [binding for one in filters for binding in await list_acls(client, one)]
    acls = grouped(dict.fromkeys(found))
    if given.principal is None:
        _print(acls)
        return
    for principal in dict.fromkeys(one.strip() for one in given.principal):
        say(f"ACLs for principal `{principal}`")
        _print({pattern: [one for one in entries if one.principal == principal] for pattern, entries in acls.items()})


def _print(acls: Mapping[ResourcePattern, Sequence[AccessControlEntry]]) -> None:
    for pattern, entries in acls.items():
        if entries:
            say(f"Current ACLs for resource `{_pattern(pattern)}`:\n{_lines(entries)}\n")


# ---- what the flags mean
def _wanted(given: argparse.Namespace) -> Entries:
    """The entries for each resource, which may be none. Raises FlagsError."""
    from kafkastore.acl_words import ALL, CLUSTER, CLUSTER_NAME, LITERAL, SUPPORTED, ResourcePattern
    from kafkastore.admin.acls import CONSUMER, PRODUCER

    patterns = _resources(given)
    if not patterns:
        raise FlagsError(NO_RESOURCE)
    operations: dict[ResourcePattern, dict[int, None]] = {}
    for role in [PRODUCER] * given.producer + [CONSUMER] * given.consumer:
        for pattern in patterns:
            if pattern.resource_type in role:
                operations.setdefault(pattern, {}).update(dict.fromkeys(role[pattern.resource_type]))
    if given.idempotent:
        from kafkastore.admin.acls import IDEMPOTENT

        operations[ResourcePattern(CLUSTER, LITERAL, CLUSTER_NAME)] = dict.fromkeys(IDEMPOTENT[CLUSTER])
    if not given.producer and not given.consumer:
        named = dict.fromkeys(map(_operation, given.operation or ("All",)))
        operations = dict.fromkeys(patterns, named)
    entries = {pattern: _entries(given, wanted) for pattern, wanted in operations.items()}
    for pattern, of_pattern in entries.items():
        valid = (ALL, *SUPPORTED[pattern.resource_type])
        if any(entry.operation not in valid for entry in of_pattern):
            names = ", ".join(_java_operation(one) for one in valid)
            raise FlagsError(f"ResourceType {_java_type(pattern)} only supports operations [{names}]")
    return entries


def _resources(given: argparse.Namespace) -> list[ResourcePattern]:
    from kafkastore.acl_words import CLUSTER, CLUSTER_NAME, LITERAL, RESOURCE_TYPES, ResourcePattern

    numbers = {name: number for number, name in RESOURCE_TYPES.items()}
    pattern_type = PATTERN_TYPES[given.resource_pattern_type.upper()]
    found = [
        ResourcePattern(numbers[kind], pattern_type, name.strip())
        for flag, kind in RESOURCE_FLAGS.items()
        for name in getattr(given, flag) or ()
    ]
    if pattern_type == LITERAL and (given.cluster or given.idempotent):
        found.append(ResourcePattern(CLUSTER, LITERAL, CLUSTER_NAME))
    return list(dict.fromkeys(found))


def _operation(text: str) -> int:
    """Kafka's number of an operation, however its name is written; 0 for what is none."""
    from kafkastore.acl_words import OPERATIONS, UNKNOWN

    names = {name.lower(): number for number, name in OPERATIONS.items()}
    return names.get(text.strip().replace("_", "").lower(), UNKNOWN)


def _entries(given: argparse.Namespace, operations: Iterable[int]) -> list[AccessControlEntry]:
    from kafkastore.acl_words import ALLOW, DENY, AccessControlEntry

    return [
        AccessControlEntry(principal, host, operation, permission)
        for permission, principals, hosts in (
            (ALLOW, given.allow_principal, given.allow_host),
            (DENY, given.deny_principal, given.deny_host),
        )
        for principal in dict.fromkeys(one.strip() for one in principals or ())
        for operation in operations
        for host in dict.fromkeys(one.strip() for one in hosts or ("*",))
    ]


def _filter(pattern: ResourcePattern) -> AclBindingFilter:
    from kafkastore.admin.acls import EVERY_ACL

    kind, pattern_type, name = pattern
    return EVERY_ACL._replace(resource_type=kind, pattern_type=pattern_type, name=name)


# ---- as Java writes them
def _pattern(one: ResourcePattern) -> str:
    names = {number: name for name, number in PATTERN_TYPES.items()}
    return f"ResourcePattern(resourceType={_java_type(one)}, name={one.name}, patternType={names[one.pattern_type]})"


def _entry(one: AccessControlEntry) -> str:
    from kafkastore.acl_words import PERMISSIONS

    return (
        f"(principal={one.principal}, host={one.host}, operation={_java_operation(one.operation)}, "
        f"permissionType={PERMISSIONS.get(one.permission, 'Unknown').upper()})"
    )


def _lines(entries: Iterable[AccessControlEntry]) -> str:
    return "\n".join(f"\t{_entry(one)}" for one in entries)


def _java_type(pattern: ResourcePattern) -> str:
    from kafkastore.acl_words import RESOURCE_TYPES

    return _upper(RESOURCE_TYPES.get(pattern.resource_type, "Unknown"))


def _java_operation(number: int) -> str:
    from kafkastore.acl_words import OPERATIONS

    return _upper(OPERATIONS.get(number, "Unknown"))


def _upper(name: str) -> str:
    """``TransactionalId`` is ``TRANSACTIONAL_ID``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
