"""Puts the parts of a broker together, when its logs are open: each part is made once and gets what it needs.

A part is made after the parts that it needs, with two exceptions. Handlers need the services, and parts of the services
need handlers: these get a :class:`~kafkastore.server.dispatch.Dispatch`, which gets the services at the end. The
coordinators and the producer ids are made when they are first needed, by a request or by a partition that this broker
leads, which keeps a start short and an idle broker small. Nothing here starts, reads or writes.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from kafkastore.controller.clients import client_opener
from kafkastore.controller.controller import Controller
from kafkastore.controller.settings import settings_of
from kafkastore.dynamic_config.changes import ConfigChanges
from kafkastore.dynamic_config.delegation_tokens import KIND, TOKENS, DelegationTokens
from kafkastore.dynamic_config.features import Features
from kafkastore.dynamic_config.mutation_quotas import MutationQuotas
from kafkastore.dynamic_config.named_configs import NamedConfigs
from kafkastore.dynamic_config.quotas import ClientQuotas
from kafkastore.dynamic_config.scram_credentials import USERS, ScramCredentials
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
from kafkastore.requests.services import BrokerServices, Provider
from kafkastore.server.brokers import dialer_of
from kafkastore.server.dispatch import Dispatch
from kafkastore.topic.topics import Topics

if TYPE_CHECKING:
    from kafkastore._core import Engine
    from kafkastore.authorization.acls import Acls
    from kafkastore.config import BrokerConfig
    from kafkastore.coordinator.group_coordinator import GroupCoordinator
    from kafkastore.coordinator.producer_ids import ProducerIds
    from kafkastore.coordinator.transaction_coordinator import TransactionCoordinator
    from kafkastore.dynamic_config.broker_configs import DynamicBrokerConfigs
    from kafkastore.dynamic_config.kept_configs import KeptConfigs
    from kafkastore.log.manager import LogManager
    from kafkastore.membership.metadata_marks import MetadataMarks
    from kafkastore.metadata.store import MetadataStore
    from kafkastore.metadata.stored_topics import StoredTopics
    from kafkastore.server.surroundings import Surroundings


class BrokerParts:
    """See the module. The arguments are what a broker has when its logs are open; from then on the broker starts, stops
    and asks ``member``, ``isr_changes``, ``dialer``, ``dispatch`` and ``services``. Must be made on the loop that the
    broker runs on."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        surroundings: Surroundings,
        cluster_id: str,
        store: MetadataStore,
        stored_topics: StoredTopics,
        image: MetadataImage,
        engine: Engine,
        log_manager: LogManager,
        dynamic_configs: DynamicBrokerConfigs,
        kept_configs: KeptConfigs,
        metadata_marks: MetadataMarks | None = None,
    ) -> None:
        self._config = config
        self._surroundings = surroundings
        self._loop = asyncio.get_running_loop()
        self._store, self._image, self._engine = store, image, engine
        self.dispatch = Dispatch()
        self._take_orders(log_manager)
        self._find_controller(stored_topics)
        self._ask_controller(dynamic_configs, kept_configs)
        self.member = Member(
            config=config,
            cluster_id=cluster_id,
            store=store,
            engine=engine,
            image=image,
            held=self._held,
            log_manager=log_manager,
            assigned=self._assigned,
            isr_changes=self.isr_changes,
            controller=self._controller,
            to_controller=self._to_controller,
            forwarding=self._forwarding,
            config_changes=self._config_changes,
            features=self._features,
            acls=self.acls,
            metadata_marks=metadata_marks,
            now_ms=surroundings.now_ms,
            watch=partial(surroundings.watch, self.dialer),
        )
        self.services = self.dispatch.services = BrokerServices(
            config=config,
            cluster_id=cluster_id,
            node_id=config.node_id,
            loop=self._loop,
            engine=engine,
            image=image,
            replica_manager=self._replica_manager,
            assigned=self._assigned,
            log_dir_moves=self._log_dir_moves,
            controller=self._controller,
            forwarding=self._forwarding,
            topics=self._topics,
            dynamic_configs=dynamic_configs,
            config_changes=self._config_changes,
            scram_credentials=self._scram_credentials,
            delegation_tokens=self._delegation_tokens,
            features=self._features,
            acls=self.acls,
            quotas=self._quotas,
            named_configs=NamedConfigs(self._store),
            read_mark=self._store.read_mark,
            groups=Provider(self._start_groups),
            transactions=Provider(self._start_transactions),
            producers=Provider(self._make_producer_ids),
        )

    def _take_orders(self, log_manager: LogManager) -> None:
        """Makes the parts that carry out the controller's orders for this broker's replicas, and that propose changes
        of the in-sync sets."""
        config, image, engine = self._config, self._image, self._engine
        node_id, listener, held = config.node_id, config.inter_broker_listener, MetadataImage()
        self._held = held
        self.dialer = dialer_of(config, engine.security())
        self._connect = partial(self._surroundings.connect, dialer=self.dialer)
        stored = StoredState(self._store, held)
        manager = self._replica_manager = ReplicaManager(node_id, image, held, engine, self._loop)
        self._log_dir_moves = LogDirMoves(node_id, config.log_dirs, image, engine, log_manager, manager)
        self._assigned = AssignedReplicas(node_id, image, held, engine, manager, log_manager, stored)
        to_controller = self._to_controller = ToController(node_id, image, listener, self.dispatch.serve, self._connect)
        self.isr_changes = IsrChanges(node_id, held, engine, manager, to_controller.ask, stored.read_state)

    def _find_controller(self, stored_topics: StoredTopics) -> None:
        """Makes the controller of this process, which may be elected."""
        config, node_id = self._config, self._config.node_id
        listener = config.inter_broker_listener
        take_order = partial(take, self._assigned, listener)
        self._controller = Controller(
            node_id,
            self._store,
            client_opener(node_id, listener, take_order, self._connect),
            settings_of(config)._replace(listener=listener),
            self._loop,
            now_ms=self._surroundings.now_ms,
            make_id=self._surroundings.make_id,
            stored=stored_topics,
        )

    def _ask_controller(self, dynamic_configs: DynamicBrokerConfigs, kept_configs: KeptConfigs) -> None:
        """Makes the parts that send requests to the controller, on this broker or on another."""
        config, store, image, controller = self._config, self._store, self._image, self._controller
        self._config_changes = ConfigChanges(
            config,
            store,
            self._engine,
            image,
            self._held,
            dynamic_configs,
            kept_configs,
            is_controller=lambda: controller.is_active,
            is_own_change=controller.is_own_change,
            tell_waiting=self._assigned.tell_waiting,
        )
        security = self._engine.security()
        self._scram_credentials = ScramCredentials(store, security)
        self._delegation_tokens = tokens = DelegationTokens(config, store, security, self._surroundings.now_ms)
        self._config_changes.follow(KIND, TOKENS, tokens.take, tokens.reload_all)
        credentials = self._scram_credentials
        self._config_changes.follow("users", USERS, credentials.take, credentials.reload_all)
        self._features = Features(config.node_id, store, self._engine)
        self.acls = self._make_acls()
        self._quotas = ClientQuotas(store, self._engine, self._config_changes, MutationQuotas(config, self._loop.time))
        connections = ControllerConnections(f"broker-{config.node_id}", self._connect)
        self._forwarding = Forwarding(
            config, image, controller, connections, self.dispatch, self._config_changes.catch_up
        )
        self._topics = Topics(
            config, store, image, controller, self._assigned, self._config_changes, self._forwarding.ask
        )
        self._assigned.on_deleted = self._topics.tell_deleted

    def _make_acls(self) -> Acls | None:
        """The ACLs, when there is an authorizer. From here on the data plane refuses what no ACL allows."""
        settings, controller = self._config.authorizer, self._controller
        if settings is None:
            return None
        from kafkastore.authorization.acls import Acls

        security = self._engine.security()
        security.set_authorizer(settings.super_users, settings.allows_everyone)
        return Acls(self._store, security, lambda: controller.is_active)

    # ---- made when they are first needed
    def _start_groups(self) -> GroupCoordinator:
        from kafkastore.coordinator import group_service

        coordinator = group_service.start(
            self._config, self._image, self._engine, self._replica_manager, self._loop, self._surroundings.now_ms
        )
        self._topics.on_deleted.append(coordinator.on_topics_deleted)
        return coordinator

    def _start_transactions(self) -> TransactionCoordinator:
        from kafkastore.coordinator import transaction_service

        return transaction_service.start(
            self._config, self._engine, self._replica_manager, self._loop, self._surroundings.now_ms
        )

    def _make_producer_ids(self) -> ProducerIds:
        from kafkastore.coordinator.producer_ids import ProducerIds

        return ProducerIds(self._store, self._config.node_id, self._engine)
