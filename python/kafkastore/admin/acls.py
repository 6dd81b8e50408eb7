"""Access control lists: what there is, and giving and taking. See ``admin_client.py``.

The names of resource types, operations and permissions are Kafka's (``kafkastore.acl_words``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkastore.acl_words import (
    ANY,
    CLUSTER,
    CREATE,
    DESCRIBE,
    GROUP,
    IDEMPOTENT_WRITE,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
    AccessControlEntry,
    AclBindingFilter,
    ResourcePattern,
)
from kafkastore.admin.admin_client import WORK_MS, KafkaError, check, refusals

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkastore.admin.admin_client import AdminClient

AclBinding = tuple[ResourcePattern, AccessControlEntry]
Operations = dict[int, tuple[int, ...]]
EVERY_ACL: Final = AclBindingFilter(ANY, ANY, None, None, None, ANY, ANY)
PRODUCER: Final[Operations] = {TOPIC: (WRITE, DESCRIBE, CREATE), TRANSACTIONAL_ID: (WRITE, DESCRIBE)}
IDEMPOTENT: Final[Operations] = {CLUSTER: (IDEMPOTENT_WRITE,)}
"""What a producer without a transactional id needs beside, on brokers before Kafka 3.0."""
CONSUMER: Final[Operations] = {TOPIC: (READ, DESCRIBE), GROUP: (READ,)}
"""The operations that a producer and a consumer need, by resource type."""


async def list_acls(client: AdminClient, wanted: AclBindingFilter = EVERY_ACL) -> list[AclBinding]:
    """The ACLs that a filter finds, by pattern. Raises KafkaError."""

    async def attempt() -> list[AclBinding]:
        answer = await client.ask_any("DescribeAcls", {**_pattern(wanted), **_entry(wanted)})
        check(answer)
        return [
            (
                ResourcePattern(of.resource_type, of.pattern_type, of.resource_name),
                AccessControlEntry(one.principal, one.host, one.operation, one.permission_type),
            )
            for of in answer.resources
            for one in of.acls
        ]

    return sorted(await client.until_done(attempt))


async def create_acls(client: AdminClient, bindings: Sequence[AclBinding]) -> dict[AclBinding, KafkaError]:
    """Adds ACLs; one that is there already stays. Those that were refused, with the reasons."""

    async def attempt(asked: list[AclBinding]) -> dict[AclBinding, KafkaError]:
        rows = [
            {
                "resource_type": pattern.resource_type,
                "resource_name": pattern.name,
                "resource_pattern_type": pattern.pattern_type,
                "principal": entry.principal,
                "host": entry.host,
                "operation": entry.operation,
                "permission_type": entry.permission,
            }
            for pattern, entry in asked
        ]
        answer = await client.ask_any("CreateAcls", {"creations": rows}, timeout_ms=WORK_MS)
        return refusals(zip(asked, answer.results, strict=True))

    return await client.settled(bindings, attempt)


async def delete_acls(
    client: AdminClient, filters: Sequence[AclBindingFilter]
) -> tuple[list[AclBinding], dict[AclBindingFilter, KafkaError]]:
    """Removes what the filters find. Returns what was removed, and the filters that were refused or of whose ACLs one
    was."""
    removed: list[AclBinding] = []

    async def attempt(asked: list[AclBindingFilter]) -> dict[AclBindingFilter, KafkaError]:
        rows = [_pattern(one) | _entry(one) for one in asked]
        answer = await client.ask_any("DeleteAcls", {"filters": rows}, timeout_ms=WORK_MS)
        refused = refusals(zip(asked, answer.filter_results, strict=True))
        for one, result in zip(asked, answer.filter_results, strict=True):
            of_acls = refusals(enumerate(result.matching_acls))
            removed.extend(_matching(row) for at, row in enumerate(result.matching_acls) if at not in of_acls)
            if of_acls:
                refused.setdefault(one, next(iter(of_acls.values())))
        return refused

    refused = await client.settled(filters, attempt)
    return sorted(removed), refused


def filter_of(binding: AclBinding) -> AclBindingFilter:
    """The filter that finds this ACL alone."""
    pattern, entry = binding
    return AclBindingFilter(pattern.resource_type, pattern.pattern_type, pattern.name, *entry)


def grouped(bindings: Iterable[AclBinding]) -> dict[ResourcePattern, list[AccessControlEntry]]:
    """By pattern, in their order."""
    found: dict[ResourcePattern, list[AccessControlEntry]] = {}
    for pattern, entry in bindings:
        found.setdefault(pattern, []).append(entry)
    return found


def _pattern(wanted: AclBindingFilter) -> dict[str, Any]:
    return {
        "resource_type_filter": wanted.resource_type,
        "resource_name_filter": wanted.name,
        "pattern_type_filter": wanted.pattern_type,
    }


def _entry(wanted: AclBindingFilter) -> dict[str, Any]:
    return {
        "principal_filter": wanted.principal,
        "host_filter": wanted.host,
        "operation": wanted.operation,
        "permission_type": wanted.permission,
    }


def _matching(row: Any) -> AclBinding:
    pattern = ResourcePattern(row.resource_type, row.pattern_type, row.resource_name)
    return pattern, AccessControlEntry(row.principal, row.host, row.operation, row.permission_type)
