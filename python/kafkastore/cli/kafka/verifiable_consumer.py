"""``kafka-verifiable-consumer``: reads a topic as a member of a group, and says what it is given, reads and commits."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from kafkastore.cli.kafka.client_flags import one_config
from kafkastore.cli.kafka.events import print_event
from kafkastore.cli.kafka.flags import int32, int64
from kafkastore.cli.kafka.subcommands import Subcommands

if TYPE_CHECKING:
    from kafkastore._core import FetchedRecords
    from kafkastore.consuming.assignors import Partition
    from kafkastore.consuming.readers import GroupReader

RANGE: Final = "org.apache.kafka.clients.consumer.RangeAssignor"
SERVERS: Final = "HOST1:PORT1[,HOST2:PORT2[...]]"
POLL_MS: Final = 500

FLAGS = Subcommands("verifiable-consumer", description="Reads a topic in a group and prints what happens.")
FLAGS.add_argument("--topic", required=True, metavar="TOPIC", help="Read this topic.")
FLAGS.add_argument("--group-protocol", default="classic", metavar="GROUP-PROTOCOL", help="classic.")
FLAGS.add_argument("--group-remote-assignor", metavar="GROUP-REMOTE-ASSIGNOR", help="Of the consumer protocol alone.")
FLAGS.add_argument("--group-id", required=True, metavar="GROUP-ID", help="The group.")
FLAGS.add_argument("--group-instance-id", metavar="GROUP-INSTANCE-ID", help="The member's own name in the group.")
FLAGS.add_argument(
    "--max-messages", type=int32, default=-1, metavar="MAX-MESSAGES", help="How many; -1: until it ends."
)
FLAGS.add_argument("--session-timeout", type=int32, metavar="TIMEOUT-MS", help="Of the member.")
FLAGS.add_argument("--verbose", action="store_true", help="An event for each record.")
FLAGS.add_argument("--enable-autocommit", action="store_true", help="Commit now and then, not after each poll.")
FLAGS.add_argument(
    "--close-timeout", type=int64, default=30_000, metavar="CLOSE-TIMEOUT-MS", help="How long the end may take."
)
FLAGS.add_argument("--reset-policy", default="earliest", metavar="RESET-POLICY", help="earliest, latest or none.")
FLAGS.add_argument("--assignment-strategy", default=RANGE, metavar="ASSIGNMENT-STRATEGY", help="A class of Kafka's.")
FLAGS.add_argument("--consumer.config", metavar="CONFIG-FILE", help="(DEPRECATED) As --command-config.")
FLAGS.add_argument(
    "--command-config", metavar="CONFIG-FILE", help="Properties of the consumer; the flags count before."
)
FLAGS.add_argument("--bootstrap-server", required=True, metavar=SERVERS, help="Brokers to begin with.")


def main(arguments: list[str]) -> int:
    if not arguments:
        FLAGS.print_help()
        return 0
    given = FLAGS.read(arguments)
    if given is None:
        return 1
    properties = {
        **one_config(given, "consumer.config"),
        "bootstrap.servers": given.bootstrap_server,
        "group.id": given.group_id,
        "group.protocol": given.group_protocol,
        "partition.assignment.strategy": given.assignment_strategy,
        "enable.auto.commit": str(given.enable_autocommit).lower(),
        "auto.offset.reset": given.reset_policy,
    }
    if given.group_instance_id is not None:
        properties["group.instance.id"] = given.group_instance_id
    if given.session_timeout is not None:
        properties["session.timeout.ms"] = str(given.session_timeout)
    _run(given, properties)
    return 0


def _run(given: Any, properties: dict[str, str]) -> None:
    from kafkastore.cli.ending import TerminatedError, terminated_as_error
    from kafkastore.consuming.readers import GroupReader, Topics

    print_event("startup_complete")
    reader = GroupReader(
        properties,
        Topics((given.topic,)),
        on_assigned=lambda partitions: print_event("partitions_assigned", partitions=_named(partitions)),
        on_revoked=lambda partitions: print_event("partitions_revoked", partitions=_named(partitions)),
        warn=_warn,
    )
    is_asked = False
    with terminated_as_error():
        try:
            _read_all(reader, given)
        except (KeyboardInterrupt, TerminatedError):
            is_asked = True
            print_event("shutdown_requested")
            raise
        finally:
            reader.close()
            print_event("shutdown_complete")
            if not is_asked:
                print_event("shutdown_requested")


def _warn(sentence: str) -> None:
    sys.stderr.write(f"WARN {sentence}\n")


def _read_all(reader: GroupReader, given: Any) -> None:
    consumed = 0
    while given.max_messages < 0 or consumed < given.max_messages:
        left = 500 if given.max_messages < 0 else min(500, given.max_messages - consumed)
        found = reader.poll(POLL_MS, left)
        if not found:
            continue
        if given.verbose:
            for fetched in found:
                _print_records(fetched)
        count = sum(fetched.count for fetched in found)
        consumed += count
        print_event("records_consumed", count=count, partitions=[_summary(fetched) for fetched in found])
        if not given.enable_autocommit:
            _commit(reader, {(one.topic, one.partition): one.last_offset + 1 for one in found})


def _print_records(fetched: FetchedRecords) -> None:
    place = {"topic": fetched.topic, "partition": fetched.partition}
    for record in fetched.records():
        key, value = (None if data is None else data.decode(errors="replace") for data in (record.key, record.value))
        print_event("record_data", key=key, value=value, **place, offset=record.offset)


def _summary(fetched: FetchedRecords) -> dict[str, Any]:
    return {
        "topic": fetched.topic,
        "partition": fetched.partition,
        "count": fetched.count,
        "minOffset": fetched.first_offset,
        "maxOffset": fetched.last_offset,
    }


def _commit(reader: GroupReader, offsets: dict[Partition, int]) -> None:
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.errors import ErrorCode

    rows = [{"topic": topic, "partition": number, "offset": offset} for (topic, number), offset in offsets.items()]
    try:
        reader.commit(offsets)
    except KafkaError as error:
        if error.code == ErrorCode.FENCED_INSTANCE_ID:
            raise
        print_event("offsets_committed", offsets=rows, error=str(error), success=False)
        return
    print_event("offsets_committed", offsets=rows, success=True)


def _named(partitions: list[Partition]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": number} for topic, number in partitions]
