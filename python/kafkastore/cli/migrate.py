"""``kafkastore migrate``: from Apache Kafka to kafkastore, by its directory or over the network.

What is found goes to stdout, questions and mistakes to stderr.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kafkastore.cli.cluster_options import cluster_options
from kafkastore.cli.nouns import Noun
from kafkastore.cli.option_types import Seconds
from kafkastore.cli.outcome import FailedError, fail_if_refused
from kafkastore.cli.progress import progress_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.migration.plan import Plan


@click.group("migrate", cls=Noun)
def command() -> None:
    """Come from Apache Kafka: check a directory, or mirror a cluster and cut over.

    check says whether a broker serves a directory of Apache Kafka as it is. plan and run mirror a cluster of any maker
    into another one while both run, until clients change over. See docs/migrate.md.
    """


def source_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the option that says how the source is reached."""
    file = click.option(
        "--from-command-config", metavar="FILE", help="A client.properties for the source: security.protocol, sasl.*, …"
    )
    return file(function)


@command.command()
@click.argument("paths", metavar="DIR...|server.properties", nargs=-1, required=True, type=click.Path())
@click.option("--no-files", is_flag=True, help="Do not verify every file; of a large directory that takes long.")
@click.option("--json", "is_json", is_flag=True, help="One JSON object.")
@progress_option
def check(paths: tuple[str, ...], no_files: bool, is_json: bool, shows_progress: bool) -> int:
    """Say what a directory of Apache Kafka is, and whether a broker serves it as it is.

    DIR is an entry of log.dirs; a server.properties names them, and is checked, too. Nothing is changed, and nothing
    is locked. Exit status: 0 it can be served, 1 it cannot.
    """
    from kafkastore.cli import migrate_report
    from kafkastore.migration.verdict import look_at

    report = look_at(paths, lambda found: migrate_report.faults_of(found, shows_progress) if not no_files else None)
    if is_json:
        click.echo(json.dumps(migrate_report.report_json(report), ensure_ascii=False, indent=2))
    else:
        click.echo(migrate_report.report_text(report), nl=False)
    return 1 if report.reasons else 0


@command.command(
    epilog="kafkastore migrate plan --from-bootstrap-server old1:9092 -b new1:9092 -o plan.json && kafkastore migrate "
    "run plan.json -b new1:9092"
)
@cluster_options
@click.option("--from-bootstrap-server", "servers", metavar="HOST:PORT,...", required=True, help="The source.")
@source_options
@click.option("-t", "--topics", metavar="REGEX", default=".*", help="Whole names of topics.  [default: all]")
@click.option("--exclude", metavar="REGEX", help="Topics that are left out.")
@click.option("-g", "--groups", metavar="REGEX", default=".*", help="Whole names of groups.  [default: all]")
@click.option("--exclude-groups", metavar="REGEX", help="Groups that are left out.")
@click.option(
    "-r", "--replication-factor", metavar="N", type=click.IntRange(1, 32767),
    help="Of every topic.  [default: as in the source, but no more than there are brokers]",
)  # fmt: skip
@click.option("--id", "id_", metavar="NAME", help="Name of this migration.  [default: the source's cluster id]")
@click.option("-o", "--out", metavar="FILE", type=click.Path(dir_okay=False), help="Write it there, not to stdout.")
def plan(
    cluster: ClusterSettings, servers: str, from_command_config: str | None, out: str | None, **chosen: Any
) -> None:
    """Plan to mirror the source into the target (-b), and change nothing.

    The plan is a JSON file for run; what is taken out of it is not done. What is to be known goes to stderr.
    """
    from kafkastore.cli import migrate_report
    from kafkastore.migration.plan import plan_text
    from kafkastore.migration.planning import Choice, make_plan

    for option in ("topics", "exclude", "groups", "exclude_groups"):
        _check_regex(option, chosen[option])
    choice = Choice(id=chosen.pop("id_"), **chosen)
    if choice.id is not None and not all(one.isalnum() or one in "._-" for one in choice.id):
        raise click.UsageError(f"--id: {choice.id!r} has other characters than letters, digits, . _ and -")
    made = make_plan(_source(servers, from_command_config), cluster, choice)
    text = plan_text(made)
    if out is None:
        click.echo(text, nl=False)
    else:
        try:
            Path(out).write_text(text, encoding="utf-8")
        except OSError as error:
            raise FailedError(f"--out {out} cannot be written: {error.strerror}") from None
    click.echo(migrate_report.plan_summary(made), err=True, nl=False)


@command.command()
@cluster_options
@click.argument("plan_file", metavar="PLAN", type=click.Path(dir_okay=False))
@click.option("--from-bootstrap-server", "servers", metavar="HOST:PORT,...", help="[default: the plan's]")
@source_options
@click.option("--passwords", metavar="FILE", help="Lines user=password of SCRAM users that are made in the target.")
@click.option("--until-caught-up", is_flag=True, help="End when everything is mirrored that there is.")
@click.option("--cut-over", is_flag=True, help="End when the source is quiet and the target has everything.")
@click.option(
    "--stable-for", metavar="SECONDS", type=Seconds(0), default=10.0, show_default=True,
    help="How long nothing may be written for the source to be quiet.",
)  # fmt: skip
@click.option(
    "--interval", metavar="SECONDS", type=Seconds(min=0.1), default=5.0, show_default=True,
    help="Between two reports of progress; groups are set twice as seldom.",
)  # fmt: skip
@click.option(
    "--compare", metavar="N", type=click.IntRange(1, 10_000), default=1000, show_default=True,
    help="Records at the end of each partition that a cut-over compares.",
)  # fmt: skip
@progress_option
def run(
    cluster: ClusterSettings,
    plan_file: str,
    servers: str | None,
    from_command_config: str | None,
    passwords: str | None,
    shows_progress: bool,
    **options: Any,
) -> None:
    """Mirror the source into the target (-b) as a PLAN says, until Ctrl-C.

    Makes what is not there, and copies records exactly once; a run that ended in any way goes on where it stood when
    it is started again. Progress is a bar on a terminal, and JSON lines on stdout elsewhere.
    """
    from kafkastore.cli.migrate_report import RunReport
    from kafkastore.cli.profiles import read_client_properties
    from kafkastore.migration.migration import Migration, Options

    planned = _read_plan(plan_file)
    source = _source(servers or planned.source.bootstrap_servers, from_command_config)
    words = {} if passwords is None else read_client_properties("--passwords", passwords)
    wanted = Options(
        options["until_caught_up"], options["cut_over"], options["stable_for"],
        2 * options["interval"], options["interval"], options["compare"],
    )  # fmt: skip
    with RunReport(is_drawn=shows_progress) as report:
        migration = Migration(planned, source, cluster, report.tell)
        try:
            refused: dict[str, str] = migration.open(words)
            report.refused(refused)
            outcome = migration.run(wanted)
        except KeyboardInterrupt:
            report.interrupted()
            raise
        finally:
            migration.close()
    if outcome is not None:
        report.cut_over(outcome, cluster.bootstrap_servers)
        refused |= outcome.refused | {one.partition(": ")[0]: one.partition(": ")[2] for one in outcome.differences}
    fail_if_refused(refused)


def _source(servers: str, command_config: str | None) -> ClusterSettings:
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.profiles import read_client_properties

    properties = {}
    if command_config is not None:
        properties = read_client_properties("--from-command-config", command_config)
    return ClusterSettings(servers, properties, "--from-bootstrap-server")


def _read_plan(path: str) -> Plan:
    from kafkastore.admin.admin_client import AdminError
    from kafkastore.migration.plan import read_plan

    try:
        return read_plan(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, AdminError) as error:
        raise FailedError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _check_regex(option: str, pattern: str | None) -> None:
    import re

    try:
        re.compile(pattern or "")
    except re.error as error:
        raise click.UsageError(f"--{option.replace('_', '-')} {pattern} is no regular expression: {error}") from None
