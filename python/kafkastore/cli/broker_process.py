"""The process of one broker: its signals, its garbage collection, its lines on stderr, its end.

It ends the process at once (``ending.py``) after a bug in the data plane, and after a stop during the start, when a
recovery may go on for minutes in its thread. A broker itself (``server/broker.py``) never ends the process that it runs
in.
"""

from __future__ import annotations

import gc
import logging
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kafkastore._core import __version__
from kafkastore.cli.ending import end_at_once
from kafkastore.cli.supervisor import tell_ready, tell_stopping
from kafkastore.config.secret import FILE_KEY, REQUIRED_KEY
from kafkastore.internal_topics import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from kafkastore.membership import registration
from kafkastore.server.broker import Broker, StopRequested
from kafkastore.server.event_loop import asyncio
from kafkastore.server.loop_lag import ControlLoop
from kafkastore.topic.internal import ALONE_FIX, unfit_for_one_broker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.config import BrokerConfig

logger = logging.getLogger("kafkastore.cli.broker_process")

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""The signals that stop a broker. SIGHUP comes when its terminal is closed, unless ``nohup`` has it ignored."""

COLLECTIONS_APART: Final = 1000
"""How many collections of the middle generation pass until the oldest generation is collected."""


def run_until_stopped(config: BrokerConfig) -> None:
    """Runs a broker in this process until one of STOP_SIGNALS. Raises StartupError."""
    with asyncio.Runner(loop_factory=ControlLoop) as runner:
        runner.run(_run(config))


async def _run(config: BrokerConfig) -> None:
    broker = Broker(config, end=end_at_once)
    loop = asyncio.get_running_loop()
    handled = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    for number in handled:
        loop.add_signal_handler(number, _stop, broker)
    try:
        await broker.start()
        gc.freeze()
        collect_seldom()
        gc.enable()
        _say_how_to_connect(broker)
        _say_who_may_give_orders(broker.config)
        _say_what_needs_brokers(broker)
        tell_ready(f"serves {_addresses(broker.config, broker.ports)[0]}")
        await broker.run_until_stopped()
    except StopRequested:
        logger.info("Stopped before the start was complete")
        end_at_once(0)  # does not wait for the thread of a recovery: the next start recovers the logs anew
    finally:
        for number in handled:  # the process ends already: a further signal must not change that
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)


def _stop(broker: Broker) -> None:
    tell_stopping()
    broker.request_stop()


def collect_seldom() -> None:
    """Makes full collections rare. A full collection holds the loop for half a microsecond for each object, and a large
    request makes 100,000s of objects. Cycles of requests die young: collections of the young generations find them."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, COLLECTIONS_APART)


def _tell(line: str) -> None:
    """Prints a line on stderr. The broker serves on when stderr is full or gone."""
    with suppress(OSError):
        sys.stderr.write(line)
        sys.stderr.flush()


def _say_how_to_connect(broker: Broker) -> None:
    config = broker.config
    clients, brokers = _addresses(config, broker.ports)
    reachable = ", ".join(map(repr, config.open_listeners))
    warning = f"; NO AUTHENTICATION: whoever reaches {reachable} may do everything" if reachable else ""
    among_each_other = f"brokers: {brokers}, " if brokers else ""
    _tell(
        f"kafkastore {__version__} is ready: bootstrap.servers={clients}"
        f" ({among_each_other}node {config.node_id}, cluster {broker.cluster_id}, {len(broker.image.topics)} topics,"
        f" data in {', '.join(config.log_dirs)}){warning}\n"
    )


def _addresses(config: BrokerConfig, ports: Sequence[int] | None) -> tuple[str, str]:
    """Where the listeners for clients are reached, with their protocols when there are several; and where the listener
    of the brokers of a cluster is, "" when it is not one with a name of its own beside others."""
    protocols = {one.name: one.protocol for one in config.listeners}
    found = [
        (f"[{host}]:{port}" if ":" in host else f"{host}:{port}", name, protocols.get(name, name))
        for name, host, port in registration.advertised(config, ports)
    ]
    of_brokers = [one for one in found if one[1] == config.inter_broker_listener != one[2]]
    if not config.is_member or len(found) == 1 or not of_brokers:
        return _listed(found), ""
    return _listed([one for one in found if one not in of_brokers]), of_brokers[0][0]


def _listed(found: Sequence[tuple[str, str, str]]) -> str:
    if len(found) == 1:
        return found[0][0]
    return " or ".join(
        f"{address} ({name})" if name == protocol else f"{address} ({name}, {protocol})"
        for address, name, protocol in found
    )


def _say_who_may_give_orders(config: BrokerConfig) -> None:
    """Logs a line when any client that reaches the inter-broker listener may act as a broker."""
    if config.is_member and not config.must_brokers_prove:
        key = FILE_KEY if config.inter_broker_secret is None else f"{REQUIRED_KEY}=true"
        logger.warning(
            "Whoever reaches listener %s may act as a broker of this cluster: set %s (page docs/clusters.md of the "
            "source)",
            config.inter_broker_listener,
            key,
        )


def _say_what_needs_brokers(broker: Broker) -> None:
    """Logs a line when a broker that is alone cannot create the topics of its coordinators, or cannot write to them."""
    if broker.config.is_member:
        return
    unfit = {
        what: unfit_for_one_broker(broker.config, topic)
        for topic, what in ((OFFSETS_TOPIC, "consumer groups"), (TRANSACTION_STATE_TOPIC, "transactions"))
        if broker.image.topic(topic) is None
    }
    if lacking := [f"no {what} with {' and '.join(pairs)}" for what, pairs in unfit.items() if pairs]:
        fix = ALONE_FIX if sum(map(len, unfit.values())) == 1 else ALONE_FIX.replace("it", "each", 1)
        logger.warning("There can be %s; %s", ", and ".join(lacking), fix)
