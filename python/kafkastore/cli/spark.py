"""``kafkastore spark``: exports, verifies, measures and replays topics with Spark, on the segment files.

Finds the command, runs it and turns what goes wrong into one sentence; ``spark_export`` and the others know the
options. PySpark is imported when a command has understood its command line.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from kafkastore.cli.usage import UsageError

USAGE = """\
usage: kafkastore spark export DIR... --topic NAME --output FOLDER [options]
       kafkastore spark verify DIR... [--topic NAME] [options]
       kafkastore spark stats DIR... [--topic NAME] [options]
       kafkastore spark replay DIR... --topic NAME --to-topic NAME --to-bootstrap-server H:P [options]

DIR is an entry of log.dirs. Needs PySpark and Java: pip install 'kafkastore[spark]'.

export           writes topics as Parquet (or a Delta or Iceberg table), partitioned by topic and day. Each call
                 exports what has come since the last one. Whatever is killed, the next call goes on: no record is
                 lost, none is there twice
verify           checks every file of log directories as kafkastore check does, with tasks, and that the replicas of a
                 partition, in the directories of different brokers, hold the same batches
stats            records, bytes, rates, keys, codecs and times by topic
replay           copies a slice of a topic into another: keys, values, headers and timestamps

options of all:
  --topic NAME           a topic; may be given again (verify: one)
  --topic-pattern REGEX  the topics whose whole name matches (not verify)
  --bootstrap-server H:P asks this broker how far may be read; without, the checkpoints beside the segments say it
  --command-config FILE  for that broker: a client.properties with security.protocol, sasl.* and ssl.*
  --option NAME=VALUE    an option of Spark's source format("kafkastore"); may be given again (not verify)
  --master URL           where Spark runs (default: local[*])
  --conf KEY=VALUE       a configuration of Spark; may be given again
  --json                 one JSON object a line
  --no-progress          no progress bar (there is one only when stderr is a terminal)

options of export:
  --output FOLDER        on any file system of Spark's; for Iceberg the name of a table
  --checkpoint FOLDER    what was exported (default: FOLDER.checkpoint); on the same file system as the output
  --format parquet|delta|iceberg  (default: parquet)
  --partition-by day|hour|none    of the record's timestamp in UTC (default: day)
  --target-file-size SIZE  bytes, or with k, M, G (1024) (default: 128M)
  --batch-size SIZE      segment bytes that are exported at a time: what a kill undoes (default: 16G)
  --compression CODEC    of Parquet: zstd, snappy, gzip, lz4, none (default: zstd)
  --from earliest|latest|TIME|JSON  where the first call begins; JSON as startingOffsets (default: earliest)
  --to TIME              only records before it

options of verify:
  --deep-iteration       also inflate and decode every record

options of stats:
  --top-keys N           the heaviest keys to name (default: 10); 0 leaves keys alone, which is much faster

options of replay:
  --to-topic NAME        the topic written to; it exists and is another one
  --to-bootstrap-server H:P  a broker of the cluster written to (default: --bootstrap-server)
  --to-command-config FILE  for that broker (default: --command-config)
  --from, --to           TIME, JSON as startingOffsets and endingOffsets, earliest or latest (default: everything)
  --keep-partitions      each record into the partition of its number; else by its key, as producers do
  --max-records-per-second N
  --dry-run              print what would be copied, and do nothing

A TIME is ISO 8601 with a zone, as 2026-01-31T12:00:00Z.

exit status: 0 done, 1 failed or (verify) faults were found, 2 wrong usage or a path that cannot be used, 130 Ctrl-C
"""

COMMANDS = ("export", "verify", "stats", "replay")


def main(arguments: list[str]) -> int:
    """Runs a command; returns the exit status, see USAGE. Raises UsageError."""
    from importlib import import_module

    from kafkastore.cli.spark_arguments import parse

    command, *given = arguments
    if command not in COMMANDS:
        raise UsageError(f"there is no command {command}; the commands are {', '.join(COMMANDS)}")
    try:
        from kafkastore.spark.pipeline.session import PipelineError, log_file, sentence_of, start
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pyspark", "py4j"):
            raise
        sentence = f"this command needs PySpark ({error}); install it with pip install 'kafkastore[spark]'"
        sys.stderr.write(f"kafkastore spark {command}: {sentence}\n")
        return 1
    module = import_module(f"kafkastore.cli.spark_{command}")
    understood = parse(command, module.add_arguments, given)
    wanted = module.understand(understood)
    log = log_file()
    is_log_useful = False
    try:
        spark = start(f"kafkastore spark {command}", understood.master, {**module.CONF, **understood.conf}, log)
        try:
            return int(module.run(spark, understood, wanted))
        finally:
            with suppress(Exception):  # a JVM that has died
                spark.stop()
    except (UsageError, BrokenPipeError):
        raise
    except PipelineError as error:
        sys.stderr.write(f"kafkastore spark {command}: {error}\n")
        return 1
    except Exception as error:  # noqa: BLE001 - Spark and py4j have many classes; the log has the rest
        is_log_useful = log.stat().st_size > 0
        also = f" (Spark's log: {log})" if is_log_useful else ""
        sys.stderr.write(f"kafkastore spark {command}: {sentence_of(error)}{also}\n")
        return 1
    finally:
        if not is_log_useful:
            log.unlink()
