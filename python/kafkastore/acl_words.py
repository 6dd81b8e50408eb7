"""The words of access control lists: Kafka's numbers and names of resource types, pattern types, operations and
permissions; one ACL (a *binding*); a filter of ACLs; for brokers and for those who ask them. No I/O.

An ACL belongs to a resource pattern. A filter of the pattern type MATCH finds the ACLs of every pattern that matches
the filter's name; of ANY, LITERAL and PREFIXED the ACLs of patterns with that very name.
"""

from __future__ import annotations

from typing import Final, NamedTuple

# org.apache.kafka.common.resource.ResourceType
UNKNOWN, ANY = 0, 1
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN, USER = range(2, 8)

RESOURCE_TYPES: Final = {
    TOPIC: "Topic",
    GROUP: "Group",
    CLUSTER: "Cluster",
    TRANSACTIONAL_ID: "TransactionalId",
    DELEGATION_TOKEN: "DelegationToken",
    USER: "User",
}

CLUSTER_NAME: Final = "kafka-cluster"
"""The only resource of the type CLUSTER."""

EVERY_NAME: Final = "*"

# org.apache.kafka.common.resource.PatternType
MATCH, LITERAL, PREFIXED = 2, 3, 4

PATTERN_TYPES: Final = {LITERAL: "LITERAL", PREFIXED: "PREFIXED"}

# org.apache.kafka.common.acl.AclOperation
ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS = range(2, 12)
IDEMPOTENT_WRITE, CREATE_TOKENS, DESCRIBE_TOKENS, TWO_PHASE_COMMIT = range(12, 16)

OPERATIONS: Final = {
    ALL: "All",
    READ: "Read",
    WRITE: "Write",
    CREATE: "Create",
    DELETE: "Delete",
    ALTER: "Alter",
    DESCRIBE: "Describe",
    CLUSTER_ACTION: "ClusterAction",
    DESCRIBE_CONFIGS: "DescribeConfigs",
    ALTER_CONFIGS: "AlterConfigs",
    IDEMPOTENT_WRITE: "IdempotentWrite",
    CREATE_TOKENS: "CreateTokens",
    DESCRIBE_TOKENS: "DescribeTokens",
    TWO_PHASE_COMMIT: "TwoPhaseCommit",
}

SUPPORTED: Final = {
    TOPIC: (READ, WRITE, CREATE, DESCRIBE, DELETE, ALTER, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    GROUP: (READ, DESCRIBE, DELETE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    CLUSTER: (CREATE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE, ALTER, DESCRIBE),
    TRANSACTIONAL_ID: (DESCRIBE, WRITE, TWO_PHASE_COMMIT),
    DELEGATION_TOKEN: (DESCRIBE,),
    USER: (CREATE_TOKENS, DESCRIBE_TOKENS),
}
"""The operations that mean something for a resource type, beside ALL: org.apache.kafka.security.authorizer.AclEntry"""

# org.apache.kafka.common.acl.AclPermissionType
DENY, ALLOW = 2, 3

PERMISSIONS: Final = {DENY: "Deny", ALLOW: "Allow"}


class ResourcePattern(NamedTuple):
    """The resources that an ACL is for."""

    resource_type: int
    pattern_type: int
    name: str

    def __str__(self) -> str:
        return f"{RESOURCE_TYPES[self.resource_type]}:{PATTERN_TYPES[self.pattern_type]}:{self.name}"


class AccessControlEntry(NamedTuple):
    """An ACL without its pattern."""

    principal: str
    host: str
    operation: int
    permission: int

    def __str__(self) -> str:
        what = f"{PERMISSIONS[self.permission]} {OPERATIONS[self.operation]}"
        return f"{self.principal} has {what} permission for operations from host {self.host}"


class AclBindingFilter(NamedTuple):
    """None and ANY match everything."""

    resource_type: int
    pattern_type: int
    name: str | None
    principal: str | None
    host: str | None
    operation: int
    permission: int

    def matches_pattern(self, pattern: ResourcePattern) -> bool:
        if self.resource_type not in (ANY, pattern.resource_type):
            return False
        if self.pattern_type not in (ANY, MATCH, pattern.pattern_type):
            return False
        if self.name is None:
            return True
        if self.pattern_type != MATCH:
            return self.name == pattern.name
        if pattern.pattern_type == PREFIXED:
            return self.name.startswith(pattern.name)
        return pattern.name in (self.name, EVERY_NAME)

    def matches_entry(self, entry: AccessControlEntry) -> bool:
        return (
            self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (ANY, entry.operation)
            and self.permission in (ANY, entry.permission)
        )
