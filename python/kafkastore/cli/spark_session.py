"""Runs a verb of ``kafkastore spark`` in a Spark session of its own, with a bar of the tasks that are done."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import click

from kafkastore.cli.outcome import FailedError
from kafkastore.cli.progress import Reading, polled

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from kafkastore.cli.spark_arguments import SparkArguments

Wanted = TypeVar("Wanted")


def run_verb(
    verb: str,
    arguments: SparkArguments,
    understand: Callable[[SparkArguments], Wanted],
    run: Callable[[SparkSession, SparkArguments, Wanted], int],
) -> int:
    """What ``run`` returns, in a session that is begun for what the verb has understood. Raises UsageError, and
    FailedError, whose sentence names Spark's log where it has more to say."""
    try:
        from kafkastore.spark.pipeline.session import PipelineError, log_file, sentence_of, start
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pyspark", "py4j"):
            raise
        sentence = f"this command needs PySpark ({error}); install it with pip install 'kafkastore[spark]'"
        raise FailedError(sentence) from None
    wanted = understand(arguments)

    log = log_file()
    is_log_useful = False
    try:
        spark = start(f"kafkastore spark {verb}", arguments.master, arguments.conf, log)
        try:
            return run(spark, arguments, wanted)
        finally:
            with suppress(Exception):  # a JVM that has died
                spark.stop()
    except (click.UsageError, BrokenPipeError):
        raise
    except PipelineError as error:
        raise FailedError(error) from None
    except Exception as error:  # noqa: BLE001 - Spark and py4j have many classes; the log has the rest
        is_log_useful = log.stat().st_size > 0
        also = f" (Spark's log: {log})" if is_log_useful else ""
        raise FailedError(f"{sentence_of(error)}{also}") from None
    finally:
        if not is_log_useful:
            log.unlink()


def task_progress(spark: SparkSession, what: str, *, is_shown: bool) -> AbstractContextManager[None]:
    """A bar of the tasks of the stages that run, while the block runs; Spark is asked for nothing but what it knows
    anyway."""
    tracker = spark.sparkContext.statusTracker()

    def read() -> Reading | None:
        try:
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        except Exception:  # noqa: BLE001 - the session is ending; the command itself reports why
            return None
        running = [stage for stage in stages if stage is not None]
        done, total = (sum(getattr(one, name) for one in running) for name in ("numCompletedTasks", "numTasks"))
        return Reading(done, total, f"{what}: {done} of {total} tasks")

    return polled(read, is_shown=is_shown)
