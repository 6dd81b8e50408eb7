"""``kafka-verifiable-producer``: sends rising numbers, and says of each what became of it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.cli.kafka.client_flags import one_config
from kafkastore.cli.kafka.events import print_event
from kafkastore.cli.kafka.flags import int32, int64
from kafkastore.cli.kafka.subcommands import Subcommands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore._core import Delivery
    from kafkastore.producing.tracked_writer import TrackedWriter

FOREVER: Final = 1 << 63
SERVERS: Final = "HOST1:PORT1[,HOST2:PORT2[...]]"

FLAGS = Subcommands("verifiable-producer", description="Sends rising numbers and prints what became of each.")
FLAGS.add_argument("--topic", required=True, metavar="TOPIC", help="Write to this topic.")
FLAGS.add_argument(
    "--max-messages", type=int32, default=-1, metavar="MAX-MESSAGES", help="How many; -1: until it ends."
)
FLAGS.add_argument("--throughput", type=int64, default=-1, metavar="THROUGHPUT", help="Records a second; -1: no limit.")
FLAGS.add_argument("--acks", type=int64, default=-1, choices=(0, 1, -1), metavar="ACKS", help="0, 1 or -1.")
FLAGS.add_argument("--producer.config", metavar="CONFIG-FILE", help="(DEPRECATED) As --command-config.")
FLAGS.add_argument(
    "--message-create-time", type=int64, default=-1, metavar="CREATE-TIME", help="Of the first record, in ms."
)
FLAGS.add_argument("--value-prefix", type=int32, metavar="VALUE-PREFIX", help="A number before each value, with a dot.")
FLAGS.add_argument(
    "--repeating-keys", type=int32, metavar="REPEATING-KEYS", help="Keys from 0 on, below this, in turn."
)
FLAGS.add_argument(
    "--command-config", metavar="CONFIG-FILE", help="Properties of the producer; count before the flags."
)
FLAGS.add_argument("--bootstrap-server", required=True, metavar=SERVERS, help="Brokers to begin with.")


class Sent(NamedTuple):
    key: str | None
    value: str


def main(arguments: list[str]) -> int:
    if not arguments:
        FLAGS.print_help()
        return 0
    given = FLAGS.read(arguments)
    if given is None:
        return 1
    from kafkastore.cli.ending import terminated_as_error
    from kafkastore.producing.tracked_writer import TrackedWriter

    properties = {
        "bootstrap.servers": given.bootstrap_server,
        "acks": str(given.acks),
        "retries": "0",
        **one_config(given, "producer.config"),
    }
    run = Run(given)
    print_event("startup_complete")
    with terminated_as_error(), TrackedWriter(properties, run.note) as writer:
        try:
            run.send_all(writer)
        finally:
            writer.flush()
            run.tell()
    return 0


class Run:
    """What was sent, and what of it was acknowledged."""

    def __init__(self, given: Any) -> None:
        self._given = given
        self._start = time.time()
        self._sent = self._acked = 0
        self._create_time_ms = given.message_create_time

    def send_all(self, writer: TrackedWriter) -> None:
        from kafkastore.cli.kafka.pace import Pace

        most = FOREVER if self._given.max_messages < 0 else self._given.max_messages
        pace = Pace(self._given.throughput)
        while self._sent < most:
            numbers = range(self._sent, self._sent + pace.at_once(most - self._sent))
            marks = [Sent(self._key(number), self._value(number)) for number in numbers]
            self._sent += len(marks)
            writer.send_marked(self._given.topic, [self._row(one) for one in marks], marks)
            writer.serve(pace.due_in_s(self._sent) if self._sent < most else 0.0)

    def _row(self, one: Sent) -> tuple[bytes | None, bytes, Sequence[Any] | None, int | None, int | None]:
        timestamp = None
        if self._create_time_ms != -1:
            timestamp = self._create_time_ms
            self._create_time_ms += int((time.time() - self._start) * 1000)
        return None if one.key is None else one.key.encode(), one.value.encode(), None, None, timestamp

    def _key(self, number: int) -> str | None:
        return None if self._given.repeating_keys is None else str(number % self._given.repeating_keys)

    def _value(self, number: int) -> str:
        prefix = self._given.value_prefix
        return str(number) if prefix is None else f"{prefix}.{number}"

    def note(self, one: Sent, delivery: Delivery, offset: int) -> None:
        place = {"key": one.key, "value": one.value}
        if delivery.error is None:
            self._acked += 1
            where = {"offset": offset, "topic": delivery.topic, "partition": delivery.partition}
            print_event("producer_send_success", **place, **where)
            return
        print_event(
            "producer_send_error",
            **place,
            topic=delivery.topic,
            exception=f"class org.apache.kafka.common.errors.{_java_class(delivery.error)}",
            message=delivery.message,
        )

    def tell(self) -> None:
        print_event("shutdown_complete")
        seconds = max(time.time() - self._start, 0.001)
        print_event(
            "tool_data",
            sent=self._sent,
            acked=self._acked,
            target_throughput=self._given.throughput,
            avg_throughput=self._acked / seconds,
        )
        sys.stdout.flush()


def _java_class(name: str) -> str:
    from kafkastore._core import error_codes

    return next((java_class for _, known, _, java_class in error_codes() if known == name), "UnknownServerException")
