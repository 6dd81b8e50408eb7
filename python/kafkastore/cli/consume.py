"""``kafkastore consume``: reads records, follows them, filters them. ``consume_records.py`` does the work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from kafkastore.cli.cluster_options import cluster_options, key_values
from kafkastore.cli.completion import TOPIC

if TYPE_CHECKING:
    from kafkastore.cli.cluster_options import ClusterSettings

NUMBERS = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?", re.ASCII)
FORMATS = ("text", "json", "jsonl", "raw")
VALUE_FORMATS = ("json", "avro", "protobuf", "csv")
EPILOG = """\
OFFSET: begin, end, a number, -N (N offsets before the end of each partition), +N, @ and a time (ISO 8601, ago: 90s,
2h30m, 7d, or seconds or milliseconds since 1970); START:END for a range, as
-o @2026-01-31T12:00:00Z:@2026-01-31T13:00:00Z. A group begins there where it has no committed offset: begin or end.

PATTERN: %v value, %k key, %h headers, %t topic, %p partition, %o offset, %T time in ms, %d time as ISO 8601, %V and %K
lengths, %e leader's epoch, %% a percent sign; \\n \\t \\x00. kcat's %s and %S are %v and %V.

Records of open and aborted transactions are left out, unless --isolation-level read_uncommitted is given.
"""


@click.command("consume", epilog=EPILOG)
@cluster_options
@click.argument("topics", metavar="TOPIC...", nargs=-1, required=True, type=TOPIC)
@click.option("-r", "--regex", is_flag=True, help="TOPIC is a pattern of whole names; ^ at its beginning says it, too.")
@click.option("-o", "--offset", metavar="OFFSET", help="Where to begin.  [default: end; begin with -e, -n or a filter]")
@click.option(
    "-p", "--partition", "partitions", metavar="N,N-N", multiple=True, help="Of each topic; may be given again."
)
@click.option("-n", "--num", "count", type=click.IntRange(1), help="End after so many records.")
@click.option("-e", "--exit", "is_ending", is_flag=True, help="End where the partitions end now, rather than wait.")
@click.option("-g", "--group", metavar="GROUP", help="Read as a member of this consumer group, and commit.")
@click.option("-f", "--format-string", "pattern", metavar="PATTERN", help="How a record is printed.  [default: %v\\n]")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--json", "is_json", is_flag=True, help="An object a line: the same as --format jsonl.")
@click.option("--filter", "condition", metavar="SQL", help="Only records for which this is true: value->>'x' = 'y'.")
@click.option("--isolation-level", type=click.Choice(("read_committed", "read_uncommitted")), default="read_committed")
@click.option("--value-format", type=click.Choice(VALUE_FORMATS), help="Decode values; needs a schema.")
@click.option("--value-schema", metavar="TEXT", help="An Avro schema, or names and types of SQL for json and csv.")
@click.option("--value-schema-file", metavar="FILE", help="The same in a file; descriptors for protobuf.")
@click.option("--message-name", metavar="NAME", help="Of a protobuf message.")
@click.option("--schema-registry-url", metavar="URL", help="Take the schemas from there, by the ids before the values.")
@click.option("--value-option", "value_options", metavar="KEY=VALUE", multiple=True, help="More options of values.")
def command(
    cluster: ClusterSettings,
    topics: tuple[str, ...],
    regex: bool,
    offset: str | None,
    partitions: tuple[str, ...],
    count: int | None,
    is_ending: bool,
    group: str | None,
    pattern: str | None,
    format_: str,
    is_json: bool,
    condition: str | None,
    isolation_level: str,
    value_format: str | None,
    value_schema: str | None,
    value_schema_file: str | None,
    message_name: str | None,
    schema_registry_url: str | None,
    value_options: tuple[str, ...],
) -> int:
    """Read records, follow them, filter them."""
    from kafkastore.cli.consume_offsets import BEGIN, END
    from kafkastore.cli.consume_records import ConsumeOptions, consume

    if group is not None and partitions:
        raise click.UsageError("--group reads the partitions that it gets; leave --partition out")
    if group is not None and offset not in (None, *BEGIN, *END):
        raise click.UsageError(
            f"--group reads from its committed offsets; --offset {offset} cannot be, only begin or end, for partitions "
            "without one"
        )
    if pattern in FORMATS:
        raise click.UsageError(f"--format-string {pattern} would print that word; write it as --format {pattern}")
    if pattern is not None and (is_json or format_ != "text"):
        raise click.UsageError("--format-string is for --format text; give one of them")
    named = {
        "valueFormat": value_format,
        "valueSchema": value_schema,
        "valueSchemaFile": value_schema_file,
        "messageName": message_name,
        "schemaRegistryUrl": schema_registry_url,
    }
    given = {key: value for key, value in named.items() if value is not None}
    if schema_registry_url is not None:
        given["valueFraming"] = "confluent"  # --value-option valueFraming=apicurio counts before it
    values = given | key_values("--value-option", value_options)
    if values and value_format is None:
        raise click.UsageError(f"--value-format is missing; give one of {', '.join(VALUE_FORMATS)} beside the schema")
    begins = is_ending or count is not None or condition is not None
    return consume(
        ConsumeOptions(
            cluster,
            topics,
            regex or any(topic.startswith("^") for topic in topics),
            offset or ("begin" if begins else "end"),
            numbers_of(partitions),
            count,
            is_ending,
            group,
            pattern,
            "jsonl" if is_json else format_,
            condition,
            isolation_level,
            values,
        )
    )


def numbers_of(given: tuple[str, ...]) -> tuple[range, ...] | None:
    """``0,3,5-7`` as ranges; None where nothing is given."""
    found = []
    for word in ",".join(given).split(",") if given else ():
        written = NUMBERS.fullmatch(word)
        first, last = (int(one or written[1]) for one in written.groups()) if written else (1, 0)
        if first > last:
            raise click.UsageError(f"--partition {word} is no number and no range; give 3, 0,3 or 0-3")
        found.append(range(first, last + 1))
    return tuple(found) if given else None
