"""What brokers serve, as ``kafka-broker-api-versions`` and ``kafka-cluster api-versions`` print it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from kafkastore.admin.admin_client import AdminClient
    from kafkastore.admin.brokers import ServedApi


async def api_versions_text(client: AdminClient) -> str:
    """A block for each broker. Raises AdminError."""
    from kafkastore.admin.brokers import served_apis

    found = await served_apis(client)
    cluster = await client.cluster()
    blocks = []
    for node, served in found.items():
        broker = cluster.brokers[node]
        rack = "null" if broker.rack is None else broker.rack
        head = f"{broker.host}:{broker.port} (id: {node} rack: {rack} isFenced: false) -> "
        if isinstance(served, KafkastoreError):
            blocks.append(f"{head}ERROR: {served.client_message}\n")
        else:
            lines = ",\n".join(f"\t{_line(one)}" for one in served)
            blocks.append(f"{head}(\n{lines}\n)\n")
    return "".join(blocks)


def _line(api: ServedApi) -> str:
    name = f"{api.name or 'UNKNOWN'}({api.key})"
    if api.served is None:
        return f"{name}: UNSUPPORTED"
    low, high = api.served
    span = str(low) if low == high else f"{low} to {high}"
    if api.name is None:
        return f"{name}: {span}"
    return f"{name}: {span} [{'unusable: node too new or too old' if api.usable is None else f'usable: {api.usable}'}]"
