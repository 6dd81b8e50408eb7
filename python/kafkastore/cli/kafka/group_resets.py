"""``kafka-consumer-groups --reset-offsets``: its ways, its file, its table."""

from __future__ import annotations

import csv
import io
import sys
from typing import TYPE_CHECKING, Final

from kafkastore.cli.kafka.flags import FlagsError, is_given
from kafkastore.cli.kafka.group_tables import LEAST, print_error
from kafkastore.cli.kafka.java_order import hash_order
from kafkastore.cli.kafka.partition_order import partition_order
from kafkastore.cli.kafka.run import java_text, log_warning, say
from kafkastore.cli.offset_files import read_offsets
from kafkastore.cli.times import iso_duration_ms, iso_time_ms
from kafkastore.errors import ConfigError, ErrorCode

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Collection, Mapping

    from kafkastore.admin.admin_client import AdminClient, Partition
    from kafkastore.admin.groups import GroupDescription
    from kafkastore.admin.offset_resets import Reset, Way
    from kafkastore.cli.partitions import TopicPartitions

LOGGER: Final = "org.apache.kafka.tools.GroupOffsetsResetter"
INACTIVE: Final = ("Empty", "Dead")

if TYPE_CHECKING:
    Plan = Mapping[str, Mapping[Partition, int]]
    """Offsets by group."""


async def reset_offsets(
    client: AdminClient, names: list[str], scope: list[TopicPartitions], flags: Namespace
) -> dict[str, Mapping[Partition, int]]:
    """The new offsets of each group, which are set with ``--execute``. Raises KafkaError, FlagsError."""
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.groups import describe_consumer_groups

    described = await describe_consumer_groups(client, names)
    found: dict[str, Mapping[Partition, int]] = {}
    for name in hash_order(described):
        group = described[name]
        if isinstance(group, KafkaError):
            if group.code != ErrorCode.GROUP_ID_NOT_FOUND:
                raise ConfigError(f"java.util.concurrent.ExecutionException: {java_text(group)}")
        elif group.state not in INACTIVE:
            _print_active(group)
            found[name] = {}
            continue
        found[name] = await _reset_one(client, name, scope, flags)
    return found


def _print_active(group: GroupDescription) -> None:
    print_error(
        f"Assignments can only be reset if the group '{group.group_id}' is inactive, but the current state is "
        f"{group.state}."
    )


async def _reset_one(
    client: AdminClient, name: str, scope: list[TopicPartitions], flags: Namespace
) -> Mapping[Partition, int]:
    from kafkastore.admin.group_offsets import alter_offsets
    from kafkastore.admin.offset_resets import check_partitions, committed_by
    from kafkastore.cli.partitions import partitions_of

    if flags.all_topics:
        partitions: Collection[Partition] = sorted(await committed_by(client, name))
    else:
        partitions = await partitions_of(client, scope, names_topic=False)
    await check_partitions(client, partitions)
    reset = await _planned(client, name, partitions, flags)
    if flags.execute and reset.offsets:
        refused = await alter_offsets(client, name, reset.offsets)
        for error in refused.values():
            raise error
    return reset.offsets


async def _planned(client: AdminClient, name: str, partitions: Collection[Partition], flags: Namespace) -> Reset:
    from kafkastore.admin import offset_resets

    if is_given(flags, "from-file"):
        try:
            plan = read_offsets(flags.from_file, flags.group or [])
        except OSError:
            raise ConfigError(f"java.io.IOException: Unable to read file {flags.from_file}") from None
        if name not in plan:
            print_error(f"No reset plan for group {name} found.")
            return offset_resets.Reset({})
        reset = await offset_resets.inside(client, plan[name])
    else:
        reset = await way_of(flags)(client, name, partitions)
    for (topic, number), asked in reset.asked.items():
        taken = reset.offsets[topic, number]
        side = "higher than latest" if asked > taken else "lower than earliest"
        log_warning(
            f"New offset ({asked}) is {side} offset for topic partition {topic}-{number}. Value will be set to "
            f"{taken}.",
            LOGGER,
        )
    for topic, number in partition_order(reset.ends):
        say(f"\nWarn: Partition {number} from topic {topic} is empty. Falling back to latest known offset.")
    return reset


def way_of(flags: Namespace) -> Way:
    """The way that the flags name. Raises FlagsError without one, ConfigError for a time that is none."""
    from kafkastore.admin import offset_resets

    for is_asked, way in (
        (flags.to_earliest, offset_resets.to_earliest),
        (flags.to_latest, offset_resets.to_latest),
        (flags.to_current, offset_resets.to_current),
    ):
        if is_asked:
            return way
    if is_given(flags, "to-offset"):
        return offset_resets.to_offset(flags.to_offset)
    if is_given(flags, "shift-by"):
        return offset_resets.shift_by(flags.shift_by)
    if is_given(flags, "to-datetime"):
        try:
            return offset_resets.to_time(iso_time_ms(flags.to_datetime))
        except ConfigError as error:
            raise ConfigError(f"java.text.ParseException: {error}") from None
    if is_given(flags, "by-duration"):
        return offset_resets.to_time(iso_duration_ms(flags.by_duration))
    raise FlagsError(
        "Option '[reset-offsets]' requires one of the following scenarios: [to-earliest], [to-latest], [to-current], "
        "[to-offset], [shift-by], [to-datetime], [by-duration], [from-file]"
    )


def print_plan(plan: Plan) -> None:
    groups = max(LEAST, *map(len, plan), 0)
    topics = max(LEAST, *(len(topic) for offsets in plan.values() for topic, _ in offsets), 0)
    if plan:
        sys.stdout.write(f"\n{'GROUP':<{groups}} {'TOPIC':<{topics}} {'PARTITION':<10} NEW-OFFSET")
    for group, offsets in plan.items():
        for topic, number in partition_order(offsets):
            offset = offsets[topic, number]
            sys.stdout.write(f"\n{group:<{groups}} {topic:<{topics}} {number:<10} {offset}")
    say("")


def print_csv(plan: Plan, *, is_of_one: bool) -> None:
    """What ``--from-file`` reads."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for group, offsets in plan.items():
        for topic, number in partition_order(offsets):
            offset = offsets[topic, number]
            writer.writerow([topic, number, offset] if is_of_one else [group, topic, number, offset])
    sys.stdout.write(f"{text.getvalue()}\n")
