"""The process of one broker: its signals, its collector of garbage, what it says on stderr, how it ends.

Alone here a process ends at once (``os._exit``): after a bug in the data plane, and when a start is broken off whose
recovery may go on for minutes in its thread. A broker itself (``server/broker.py``) never ends the process that it runs
in.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NoReturn

from kafkastore._core import __version__
from kafkastore.config.secret import FILE_KEY, REQUIRED_KEY
from kafkastore.membership import registration
from kafkastore.server.broker import Broker, StopRequested
from kafkastore.server.event_loop import asyncio
from kafkastore.server.loop_lag import ControlLoop

if TYPE_CHECKING:
    from kafkastore.config import BrokerConfig

logger = logging.getLogger("kafkastore.cli.broker_process")

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""What asks a broker to stop; SIGHUP comes when its terminal is closed, unless ``nohup`` has it ignored."""

COLLECTIONS_APART: Final = 1000
"""Of middle-aged objects, until all are looked through."""


def run_until_stopped(config: BrokerConfig) -> None:
    """Runs a broker in this process until one of STOP_SIGNALS. Raises StartupError."""
    with asyncio.Runner(loop_factory=ControlLoop) as runner:
        runner.run(_run(config))


async def _run(config: BrokerConfig) -> None:
    broker = Broker(config, end=end_at_once)
    loop = asyncio.get_running_loop()
    handled = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    for number in handled:
        loop.add_signal_handler(number, broker.request_stop)
    try:
        await broker.start()
        gc.freeze()
        collect_seldom()
        gc.enable()
        _say_how_to_connect(broker)
        _say_who_may_give_orders(broker.config)
        await broker.run_until_stopped()
    except StopRequested:
        logger.info("Stopped before the start was complete")
        end_at_once(0)  # although the thread of a recovery may run for minutes; nothing of it is to be kept
    finally:
        for number in handled:  # one that comes while the process ends has been obeyed already
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)


def end_at_once(status: int) -> NoReturn:
    """Ends the process, whatever runs in its threads; what was logged is written."""
    logging.shutdown()
    os._exit(status)


def collect_seldom() -> None:
    """A look for cycles through all objects holds the loop for half a microsecond each, and a large request makes
    100,000s. Cycles of requests die young and are found among young objects."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, COLLECTIONS_APART)


def _tell(line: str) -> None:
    """On stderr. Where that is full or gone the broker serves all the same."""
    with suppress(OSError):
        sys.stderr.write(line)
        sys.stderr.flush()


def _say_how_to_connect(broker: Broker) -> None:
    config = broker.config
    advertised = registration.advertised(config, broker.ports)
    own = config.inter_broker_listener if config.get("inter.broker.listener.name") else None
    of_clients = [one for one in advertised if one[0] != own] or advertised
    addresses = ",".join(f"{host}:{port}" for _, host, port in of_clients)
    reachable = ", ".join(map(repr, config.open_listeners))
    warning = f"; NO AUTHENTICATION: whoever reaches {reachable} may do everything" if reachable else ""
    _tell(
        f"kafkastore {__version__} is ready: bootstrap.servers={addresses}"
        f" (node {config.node_id}, cluster {broker.cluster_id}, {len(broker.image.topics)} topics,"
        f" data in {', '.join(config.log_dirs)}){warning}\n"
    )


def _say_who_may_give_orders(config: BrokerConfig) -> None:
    """One line, where anybody who reaches the listener of the brokers may act as one."""
    secret = config.inter_broker_secret
    if config.is_member and (secret is None or not secret.is_required):
        key = FILE_KEY if secret is None else f"{REQUIRED_KEY}=true"
        logger.warning(
            "Whoever reaches listener %s may act as a broker of this cluster: set %s (docs/operations.md)",
            config.inter_broker_listener,
            key,
        )
