"""Puts the parts of a broker together, when its logs are open: each is made once and given what it needs.

The order is that of what needs what. Two things are needed before they can be there: handlers are asked for by parts that the services
of handlers have (:class:`~kafkastore.server.dispatch.Dispatch`), and the group coordinator and the producer ids are made when somebody
asks for them first, which keeps a start short and an idle broker small. Nothing here starts, reads or writes.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kafkastore.configuration.changes import ConfigChanges
from kafkastore.controller.clients import client_opener
from kafkastore.controller.controller import Controller
from kafkastore.controller.settings import settings_of
from kafkastore.interbroker.controller_connections import ControllerConnections
from kafkastore.interbroker.to_controller import ToController
from kafkastore.membership.member import Member
from kafkastore.metadata.image import MetadataImage
from kafkastore.replica.assigned import AssignedReplicas
from kafkastore.replica.isr_changes import IsrChanges
from kafkastore.replica.log_dir_moves import LogDirMoves
from kafkastore.replica.manager import ReplicaManager
from kafkastore.replica.stored_state import StoredState
from kafkastore.replica.taken_orders import take
from kafkastore.requests.forwarding import Forwarding
from kafkastore.requests.services import BrokerServices, Once, Provider
from kafkastore.server.dispatch import Dispatch
from kafkastore.topics.topics import Topics

if TYPE_CHECKING:
    from kafkastore._core import Engine
    from kafkastore.config import BrokerConfig
    from kafkastore.configuration.dynamic_configs import DynamicConfigs
    from kafkastore.configuration.kept_configs import KeptConfigs
    from kafkastore.coordinator.group.coordinator import GroupCoordinator
    from kafkastore.coordinator.producer_ids import ProducerIds
    from kafkastore.log.manager import LogManager
    from kafkastore.membership.metadata_marks import MetadataMarks
    from kafkastore.metadata.store import MetadataStore
    from kafkastore.metadata.stored_topics import StoredTopics
    from kafkastore.server.surroundings import Surroundings


class Foundation(NamedTuple):
    """What a broker has when its logs are open."""

    config: BrokerConfig
    surroundings: Surroundings
    cluster_id: str
    store: MetadataStore
    stored_topics: StoredTopics
    image: MetadataImage
    engine: Engine
    log_manager: LogManager
    dynamic_configs: DynamicConfigs
    kept_configs: KeptConfigs
    metadata_marks: MetadataMarks | None = None


class Parts(NamedTuple):
    """The parts that the broker itself starts and stops, and what handlers are given."""

    services: BrokerServices
    dispatch: Dispatch
    member: Member
    isr_changes: IsrChanges


class _Cluster(NamedTuple):
    """What a broker does in its cluster, and how it reaches the others."""

    replica_manager: ReplicaManager
    assigned: AssignedReplicas
    to_controller: ToController
    isr_changes: IsrChanges
    controller: Controller
    config_changes: ConfigChanges
    forwarding: Forwarding
    topics: Topics


def assemble(base: Foundation) -> Parts:
    """Runs on the loop that the broker is to run on."""
    config, around = base.config, base.surroundings
    dispatch = Dispatch()
    cluster = _meet(base, dispatch)
    member = Member(
        config=config,
        cluster_id=base.cluster_id,
        store=base.store,
        engine=base.engine,
        image=base.image,
        held=cluster.replica_manager.held,
        log_manager=base.log_manager,
        assigned=cluster.assigned,
        isr_changes=cluster.isr_changes,
        controller=cluster.controller,
        to_controller=cluster.to_controller,
        forwarding=cluster.forwarding,
        config_changes=cluster.config_changes,
        metadata_marks=base.metadata_marks,
        now_ms=around.now_ms,
        open_connection=around.open_connection,
    )
    services = dispatch.services = BrokerServices(
        config=config,
        cluster_id=base.cluster_id,
        node_id=config.node_id,
        loop=asyncio.get_running_loop(),
        engine=base.engine,
        image=base.image,
        replica_manager=cluster.replica_manager,
        assigned=cluster.assigned,
        log_dir_moves=LogDirMoves(
            config.node_id, config.log_dirs, base.image, base.engine, base.log_manager, cluster.replica_manager
        ),
        controller=cluster.controller,
        forwarding=cluster.forwarding,
        topics=cluster.topics,
        dynamic_configs=base.dynamic_configs,
        config_changes=cluster.config_changes,
        groups=Provider(partial(_start_groups, base, cluster.replica_manager, cluster.topics)),
        producers=Provider(partial(_make_producer_ids, base)),
        transaction_refusal=Once(),
    )
    return Parts(services, dispatch, member, cluster.isr_changes)


def _meet(base: Foundation, dispatch: Dispatch) -> _Cluster:
    config, around, image, engine, store = base.config, base.surroundings, base.image, base.engine, base.store
    node_id, listener, held = config.node_id, config.inter_broker_listener, MetadataImage()
    connect = partial(around.connect, secret=config.inter_broker_secret)
    stored = StoredState(store, held)
    replica_manager = ReplicaManager(node_id, image, held, engine, asyncio.get_running_loop())
    assigned = AssignedReplicas(node_id, image, held, engine, replica_manager, base.log_manager, stored.load_configs)
    to_controller = ToController(node_id, image, listener, dispatch.serve, connect)
    isr_changes = IsrChanges(node_id, held, engine, replica_manager, to_controller.ask, stored.read_state)
    controller = Controller(
        node_id,
        store,
        client_opener(node_id, listener, partial(take, assigned, listener), connect),
        settings_of(config)._replace(listener=listener),
        asyncio.get_running_loop(),
        now_ms=around.now_ms,
        make_id=around.make_id,
        stored=base.stored_topics,
    )
    config_changes = ConfigChanges(
        config,
        store,
        engine,
        image,
        held,
        base.dynamic_configs,
        base.kept_configs,
        is_controller=lambda: controller.is_active,
        tell_waiting=assigned.tell_waiting,
    )
    forwarding = Forwarding(
        config,
        image,
        controller,
        ControllerConnections(f"broker-{node_id}", connect),
        dispatch,
        config_changes.catch_up,
    )
    topics = Topics(config, store, image, controller, assigned, config_changes, forwarding.ask)
    assigned.on_deleted = topics.tell_deleted
    return _Cluster(
        replica_manager, assigned, to_controller, isr_changes, controller, config_changes, forwarding, topics
    )


def _start_groups(base: Foundation, replica_manager: ReplicaManager, topics: Topics) -> GroupCoordinator:
    from kafkastore.coordinator.group import service

    loop, now_ms = asyncio.get_running_loop(), base.surroundings.now_ms
    coordinator = service.start(base.config, base.image, base.engine, replica_manager, loop, now_ms)
    topics.on_deleted.append(coordinator.on_topics_deleted)
    return coordinator


def _make_producer_ids(base: Foundation) -> ProducerIds:
    from kafkastore.coordinator.producer_ids import ProducerIds

    return ProducerIds(base.store, base.config.node_id, base.engine)
