"""``kafkastore spark``: exports, verifies, measures and replays topics with Spark, on the segment files.

``spark_export`` and the others have the verbs; ``spark_session`` runs what they have understood. PySpark is imported
when a verb has understood its command line.
"""

from __future__ import annotations

import click

from kafkastore.cli import spark_export, spark_replay, spark_stats, spark_verify
from kafkastore.cli.nouns import Noun


@click.group("spark", cls=Noun)
def command() -> None:
    """Topics to Parquet, a cluster's files checked, figures, a slice copied: with Spark's tasks.

    DIR is an entry of log.dirs. A TIME is ISO 8601 with a zone, as 2026-01-31T12:00:00Z. Needs PySpark and Java: pip
    install 'kafkastore[spark]'.

    Exit status: 0 done, 1 failed or (verify) faults were found, 2 wrong usage or a path that cannot be used, 130
    Ctrl-C.
    """


for _verb in (spark_export, spark_verify, spark_stats, spark_replay):
    command.add_command(_verb.command)
