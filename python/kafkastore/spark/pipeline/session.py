"""A Spark session for a command: with the jar, quiet, and with failures that are one sentence.

What the JVM prints goes to a log file, not to the terminal: Spark says much that is no concern of a command's user. The
session lives as long as the command.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkastore.spark import jvm

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

DEFAULTS: Final = {
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""What a command sets unless the user does. Days and hours of an export are those of UTC."""
_OUR_SENTENCE: Final = re.compile(r"(?:io\.kafkastore\.spark\.\w+|kafkastore\.\w+(?:\.\w+)*Error): (.+)")
_CLASS_BEFORE: Final = re.compile(r"^(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error): ")
_ERROR_CLASS: Final = re.compile(r"^\[[A-Z0-9_.]+\] ")


class PipelineError(Exception):
    """A command that cannot go on; the message is one sentence with the fix."""


def start(app: str, master: str | None, conf: Mapping[str, str], log: Path) -> SparkSession:
    """Starts the JVM and the session. ``log`` takes what the JVM prints. Raises PipelineError."""
    try:
        import pyspark  # noqa: F401
        from pyspark.sql import SparkSession
    except ImportError as error:
        sentence = f"this command needs PySpark ({error}); install it with pip install 'kafkastore[spark]'"
        raise PipelineError(sentence) from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder.appName(app)
    if master is not None or "spark.master" not in conf:
        builder = builder.master(master or "local[*]")
    for name, value in {**DEFAULTS, **conf}.items():
        builder = builder.config(name, value)
    try:
        if jvm.NAME not in conf.get("spark.jars", ""):
            builder = jvm.configure(builder)
        with _stderr_to(log):
            session: SparkSession = builder.getOrCreate()
    except FileNotFoundError as error:
        raise PipelineError(str(error)) from None
    except Exception as error:  # noqa: BLE001 - Spark and py4j have many classes
        if "JAVA_GATEWAY_EXITED" in str(error) or "Java" in str(error):
            sentence = _last_line(log)
            fix = "install Java 17 or newer, or set JAVA_HOME, and look at --conf"
            raise PipelineError(f"Spark's JVM does not start ({sentence}); {fix}") from None
        raise PipelineError(sentence_of(error)) from None
    return session


def log_file() -> Path:
    """A new file for what the JVM prints."""
    descriptor, name = tempfile.mkstemp(prefix="kafkastore-spark-", suffix=".log")
    os.close(descriptor)
    return Path(name)


def sentence_of(error: BaseException) -> str:
    """The one sentence of an error from Spark: ours where it is one of ours, else that of the innermost cause."""
    full_text = _full_text(error)
    if ours := _OUR_SENTENCE.findall(full_text):
        return str(ours[-1]).strip()
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    sentence = str(error)
    while java is not None:
        sentence = str(java.getMessage() or java.toString())
        java = java.getCause()
    line = next((line for line in sentence.splitlines() if line.strip()), type(error).__name__)
    return _ERROR_CLASS.sub("", _CLASS_BEFORE.sub("", line)).strip()


def _full_text(error: BaseException) -> str:
    """The message of the error and of its causes, without the stack's frames."""
    texts = []
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None:
        texts.append(str(java.toString()))
        java = java.getCause()
    return "\n".join(texts or [str(error)])


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """File descriptor 2 is the log meanwhile; a process that is started inside keeps it so."""
    sys.stderr.flush()
    saved = os.dup(2)
    target = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.dup2(target, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(target)
