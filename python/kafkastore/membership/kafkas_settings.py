"""Takes over what Apache Kafka's metadata log says beside its topics: ACLs, users of SCRAM, quotas, configurations of
brokers, delegation tokens, features.

It happens once, before a broker that is alone writes the cluster id into a new store: a start that is broken off begins
again. Who opens a directory of Kafka's with this broker serves it to the same people as before. What this version does
not have is named with its count; a rule that denies, or that cannot be read, must not be lost, so the start is refused.
The broker's configuration says whether ACLs count, as in Kafka.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from kafkastore._core import supported_features
from kafkastore.acl_words import (
    ALLOW,
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSIONS,
    RESOURCE_TYPES,
    ResourcePattern,
)
from kafkastore.acl_words import AccessControlEntry as AclEntry
from kafkastore.authorization import nodes as acl_nodes
from kafkastore.dynamic_config import named_configs
from kafkastore.dynamic_config.broker_configs import DEFAULT_BROKER
from kafkastore.dynamic_config.delegation_tokens import TOKENS, Token, encode_token
from kafkastore.dynamic_config.entity_names import sanitize
from kafkastore.dynamic_config.quota_entities import check_value, entity_of, value_text
from kafkastore.dynamic_config.scram_credentials import MECHANISMS, Credential, encode_credential
from kafkastore.errors import InvalidRequestError, StartupError
from kafkastore.metadata.backup import BackupError, locked
from kafkastore.metadata.batches import write_many
from kafkastore.metadata.features import FEATURE, encode_features
from kafkastore.metadata.kafka_metadata import BROKER, CLIENT_METRICS, GROUP, read_metadata
from kafkastore.metadata.kafka_metadata_log import metadata_places
from kafkastore.metadata.nodes import encode_config
from kafkastore.metadata.store import Create, SetData, ancestors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.config import BrokerConfig
    from kafkastore.metadata.kafka_metadata import AclRecord, KafkasMetadata
    from kafkastore.metadata.store import MetadataStore, Operation

logger = logging.getLogger("kafkastore.membership.kafkas_settings")

_NAMED: Final = {
    CLIENT_METRICS: (named_configs.CLIENT_METRICS, "subscriptions to clients' metrics"),
    GROUP: (named_configs.GROUPS, "configurations of groups"),
}
"""By type of resource: the kind in the store, and what it is."""


async def take_over(store: MetadataStore, config: BrokerConfig) -> None:
    """Writes into a new store what Kafka's metadata says. Raises StartupError, also while Kafka runs on it: what Kafka
    changed afterwards would be missed."""
    try:
        with locked(config.log_dirs):
            found = await asyncio.get_running_loop().run_in_executor(None, read_metadata, metadata_places(config))
            await _write(store, config, found)
    except BackupError as error:
        raise StartupError(str(error)) from None


async def _write(store: MetadataStore, config: BrokerConfig, found: KafkasMetadata) -> None:
    if found.faults and config.authorizer is not None:
        raise StartupError(
            f"Kafka's metadata may have ACLs that this broker would not know: {found.faults[0]}; repair it, or start "
            "once without authorizer.class.name and add the ACLs anew"
        )
    taking = _taking(found)
    nodes = taking.nodes | {f"/config/{name}": encode_config(content) for name, content in taking.configs.items()}
    operations: list[Operation] = []
    made: set[str] = set()
    for path, data in nodes.items():
        for above in ancestors(path):
            if above not in made and await store.exists(above) is None:
                operations.append(Create(above))
            made.add(above)
        operations.append(SetData(path, data))
    await write_many(store, operations)
    if taking.taken:
        logger.info("Taken over from Kafka's metadata: %s", _counts(taking.taken))
    if taking.left_out:
        logger.warning(
            "Left out of Kafka's metadata, since this version does not have them: %s", _counts(taking.left_out)
        )
    if taking.taken["ACLs"] and config.authorizer is None:
        logger.warning("%d ACLs have no effect without authorizer.class.name", taking.taken["ACLs"])


def counts_of(found: KafkasMetadata) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """How many of what a start would take over, and leave out. Raises StartupError for what must not be lost."""
    taking = _taking(found)
    return taking.taken, taking.left_out


def _taking(found: KafkasMetadata) -> _NodesToWrite:
    taking = _NodesToWrite()
    for add in (_add_acls, _add_users, _add_quotas, _add_configs, _add_tokens, _add_features):
        add(found, taking)
    return taking


def _counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(found.items()))


class _NodesToWrite:
    """The content of the nodes that are to be written, and how many of what are taken over and left out."""

    def __init__(self) -> None:
        self.nodes: dict[str, bytes] = {}
        self.configs: dict[str, dict[str, str]] = {}
        """By the path below ``/config``; a user's node has credentials and quotas."""
        self.taken: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()


def _add_acls(found: KafkasMetadata, taking: _NodesToWrite) -> None:
    by_pattern: dict[ResourcePattern, set[AclEntry]] = {}
    for one in found.acls.values():
        if _is_known(one):
            pattern = ResourcePattern(one.resource_type, one.pattern_type, one.name)
            by_pattern.setdefault(pattern, set()).add(AclEntry(one.principal, one.host, one.operation, one.permission))
            taking.taken["ACLs"] += 1
        elif one.permission == ALLOW:
            taking.left_out["ACLs"] += 1
        else:
            raise StartupError(
                f"Kafka's metadata has an ACL that this version does not know and that may deny something to "
                f"{one.principal} (resource type {one.resource_type}, name {one.name}, operation {one.operation}); "
                "delete it with kafka-acls.sh while Kafka runs on the directory"
            )
    for pattern, entries in by_pattern.items():
        taking.nodes[acl_nodes.path_of(pattern)] = acl_nodes.encode(pattern, entries)


def _add_users(found: KafkasMetadata, taking: _NodesToWrite) -> None:
    for (user, mechanism), one in found.credentials.items():
        if mechanism in MECHANISMS:
            text = encode_credential(Credential(*one))
            taking.configs.setdefault(f"users/{sanitize(user)}", {})[MECHANISMS[mechanism]] = text
            taking.taken["SCRAM credentials"] += 1
        else:
            taking.left_out["SCRAM credentials"] += 1


def _add_quotas(found: KafkasMetadata, taking: _NodesToWrite) -> None:
    for parts, values in found.quotas.items():
        for key, value in values.items():
            try:
                entity = entity_of(parts)
                check_value(entity, key, value)
            except InvalidRequestError:
                taking.left_out["quotas"] += 1
            else:
                taking.configs.setdefault(f"{entity.kind}/{entity.name}", {})[key] = value_text(key, value)
                taking.taken["quotas"] += 1


def _add_configs(found: KafkasMetadata, taking: _NodesToWrite) -> None:
    """Those of topics are taken over with the topics."""
    for (kind, name), own in found.configs.items():
        if kind == BROKER:
            taking.configs.setdefault(f"brokers/{name or DEFAULT_BROKER}", {}).update(own)
            taking.taken["configurations of brokers"] += 1
        elif kind in _NAMED:
            config_kind, what = _NAMED[kind]
            taking.configs[f"{config_kind}/{named_configs.node_name(name)}"] = dict(own)
            taking.taken[what] += 1


def _add_tokens(found: KafkasMetadata, taking: _NodesToWrite) -> None:
    for token_id, token in found.tokens.items():
        taking.nodes[f"{TOKENS}/{token_id}"] = encode_token(Token(*token))
        taking.taken["delegation tokens"] += 1


def _add_features(found: KafkasMetadata, taking: _NodesToWrite) -> None:
    """A feature that the metadata does not name is at level 0."""
    if found.features:
        levels = {name: found.features.get(name, 0) for name, _, _ in supported_features()}
        taking.nodes[FEATURE] = encode_features(levels)


def _is_known(one: AclRecord) -> bool:
    known: list[tuple[int, Mapping[int, Any]]] = [
        (one.resource_type, RESOURCE_TYPES),
        (one.pattern_type, PATTERN_TYPES),
        (one.operation, OPERATIONS),
        (one.permission, PERMISSIONS),
    ]
    return all(number in names for number, names in known) and ":" in one.principal
