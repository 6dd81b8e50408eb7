"""The two clusters of a migration, as a command names them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from kafkastore.admin.admin_client import AdminError
from kafkastore.interbroker.command_config import properties_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kafkastore.admin.admin_client import AdminClient

T = TypeVar("T")


class Cluster(Protocol):
    """``properties``: the keys of Kafka's clients, in Java's or librdkafka's names, without the servers."""

    @property
    def bootstrap_servers(self) -> str: ...
    @property
    def properties(self) -> Mapping[str, str]: ...
    def ask(self, work: Callable[[AdminClient], Awaitable[T]]) -> T:
        """What ``work`` returns, which gets a client of the cluster. Raises KafkastoreError."""


def client_keys(cluster: Cluster, **own: str) -> dict[str, str]:
    """The keys of a consumer or producer of the cluster; ``own`` with _ in the place of dots."""
    keys = {name.replace("_", "."): value for name, value in own.items()}
    return {"bootstrap.servers": cluster.bootstrap_servers, **properties_of(dict(cluster.properties)), **keys}


async def cluster_id(client: AdminClient) -> str:
    """Raises AdminError."""
    found = (await client.cluster()).cluster_id
    if found is None:
        raise AdminError(f"{client.key}: this cluster has no cluster id, so it cannot be told from others")
    return found
