"""Shared by the APIs of access control lists (29, 30, 31): Kafka's checks, with its messages, in its order. Holds no
state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.acl_words import (
    ANY,
    CLUSTER,
    CLUSTER_NAME,
    LITERAL,
    MATCH,
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSIONS,
    RESOURCE_TYPES,
    UNKNOWN,
    AccessControlEntry,
    AclBindingFilter,
    ResourcePattern,
)
from kafkastore.errors import InvalidRequestError, UnsupportedVersionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.protocol.create_acls import AclCreation
    from kafkastore.protocol.delete_acls import DeleteAclsFilter
    from kafkastore.protocol.describe_acls import DescribeAclsRequest

_ANYTHING: Final = {UNKNOWN: "UNKNOWN", ANY: "ANY"}
_PATTERN_NAMES: Final = {**_ANYTHING, MATCH: "MATCH"}


def binding(requested: AclCreation) -> tuple[ResourcePattern, AccessControlEntry]:
    """The ACL that a creation asks for. Raises InvalidRequestError."""
    name, kind = requested.resource_name, requested.resource_type
    pattern_type = requested.resource_pattern_type
    if kind == CLUSTER and name != CLUSTER_NAME:
        raise InvalidRequestError(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not name:
        raise InvalidRequestError("Invalid empty resource name")
    if kind not in RESOURCE_TYPES:
        raise InvalidRequestError(f"Invalid resourceType {_shown(_ANYTHING, kind)}")
    if pattern_type not in PATTERN_TYPES:
        raise InvalidRequestError(f"Invalid patternType {_shown(_PATTERN_NAMES, pattern_type)}")
    if requested.operation not in OPERATIONS:
        raise InvalidRequestError(f"Invalid operation {_shown(_ANYTHING, requested.operation)}")
    if requested.permission_type not in PERMISSIONS:
        raise InvalidRequestError(f"Invalid permissionType {_shown(_ANYTHING, requested.permission_type)}")
    if ":" not in requested.principal:
        raise InvalidRequestError(
            f"Could not parse principal from `{requested.principal}` (no colon is present separating the "
            "principal type from the principal name)"
        )
    entry = AccessControlEntry(requested.principal, requested.host, requested.operation, requested.permission_type)
    return ResourcePattern(kind, pattern_type, name), entry


def filter_of(requested: DescribeAclsRequest | DeleteAclsFilter) -> AclBindingFilter:
    """The filter that a request has. Version 0 has literal patterns alone. Raises InvalidRequestError."""
    wanted = AclBindingFilter(
        requested.resource_type_filter,
        requested.pattern_type_filter,
        requested.resource_name_filter,
        requested.principal_filter,
        requested.host_filter,
        requested.operation,
        requested.permission_type,
    )
    if wanted.resource_type not in (ANY, *RESOURCE_TYPES) or wanted.pattern_type not in (ANY, MATCH, *PATTERN_TYPES):
        raise InvalidRequestError("Unknown patternFilter.")
    if wanted.operation not in (ANY, *OPERATIONS) or wanted.permission not in (ANY, *PERMISSIONS):
        raise InvalidRequestError("Unknown entryFilter.")
    return wanted


def check_shown(pattern: ResourcePattern, version: int) -> None:
    """Raises UnsupportedVersionError for a pattern that an answer of version 0 cannot have."""
    if version == 0 and pattern.pattern_type != LITERAL:
        raise UnsupportedVersionError("Version 0 only supports literal resource pattern types")


def _shown(names: Mapping[int, str], number: int) -> str:
    return names.get(number, "UNKNOWN")
