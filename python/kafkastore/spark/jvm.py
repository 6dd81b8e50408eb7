"""``spark.read.format("kafkastore")``: where the jar is that brings it into Spark's JVM.

The jar has the source (``java/``) and, as a resource, the library that reads segment files (``rust/jni``); Spark takes
both to the executors. ``make spark-jar`` builds it, and a wheel that is built afterwards has it. This module starts no
JVM and imports nothing of PySpark.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    Builder = TypeVar("Builder", bound=Any)

NAME: Final = "kafkastore-spark.jar"
SOURCE: Final = "kafkastore"
"""The format's name."""
REDACTION: Final = "spark.sql.redaction.options.regex"
HELD_BACK: Final = "(?i)url|ssl[.]keystore[.]key"
"""Spark's own expression, and the key in PEM. Passwords, and JAAS configurations with one, are of those that Spark
shows nowhere (``spark.redaction.regex``)."""
EXTENSIONS: Final = "io.kafkastore.spark.KafkastoreExtensions"


def jar() -> str:
    """The path of the jar, for ``spark.jars`` or ``--jars``. Raises FileNotFoundError where this build has none."""
    if sys.platform == "darwin":
        raise FileNotFoundError("the jar of kafkastore for Spark has natives of Linux; run this Spark in a container")
    path = Path(__file__).parent / "jars" / NAME
    if not path.exists():
        raise FileNotFoundError(
            f"{path}: this build of kafkastore has no jar for Spark; in a checkout, where there is a JDK, "
            "`make spark-jar` makes it, and `make wheel` after that a wheel that has it"
        )
    return str(path)


def configure(builder: Builder) -> Builder:
    """Puts the jar on the class path of the session that ``builder`` makes, with its extension of the optimizer, and
    returns the builder. Unless the builder says otherwise, Spark shows no private key that is an option.

    ``kafkastore.spark.configure(SparkSession.builder).getOrCreate()``. Jars and extensions that the builder has already
    are kept.
    """
    known: dict[str, str] = getattr(builder, "_options", {})
    for name, more in (("spark.jars", jar()), ("spark.sql.extensions", EXTENSIONS)):
        values = [*filter(None, known.get(name, "").split(",")), more]
        builder = builder.config(name, ",".join(dict.fromkeys(values)))
    if REDACTION not in known:
        builder = builder.config(REDACTION, HELD_BACK)
    return builder
