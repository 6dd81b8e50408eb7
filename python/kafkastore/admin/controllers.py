"""The client of the controllers of Kafka's quorum, where the user names those and no brokers (KIP-919). They answer
about the quorum, features and moves; a broker refuses to be taken for one."""

from __future__ import annotations

from kafkastore.admin.admin_client import AdminClient, ClusterBroker, ClusterMetadata
from kafkastore.admin.brokers import CONTROLLERS, describe_cluster


class ControllerClient(AdminClient):
    """See the module. ``cluster()`` is the controllers, of which one is active."""

    key = "--bootstrap-controller"

    async def cluster(self, *, is_fresh: bool = False) -> ClusterMetadata:
        """Raises KafkaError, AdminError."""
        if self._known is None or is_fresh:
            found = await describe_cluster(self, endpoint_type=CONTROLLERS)
            nodes = {node: ClusterBroker(one.host, one.port, one.rack) for node, one in found.brokers.items()}
            self._servers = list(dict.fromkeys([*self._servers, *((one.host, one.port) for one in nodes.values())]))
            self._known = ClusterMetadata(found.cluster_id, found.controller, nodes)
        return self._known
