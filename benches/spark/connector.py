"""The jars of Spark's Kafka source, fetched once through Maven into the tests' cache folder; `pom.xml` pins them."""

from __future__ import annotations

from pathlib import Path

from peer.cache import digest, filled

POM = Path(__file__).with_name("pom.xml")


def jars() -> str:
    """The jars, as `spark.jars` takes them."""
    command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    folder = filled(f"spark-connector-{digest(POM)}", [*command, "-DoutputDirectory={}"])
    return ",".join(str(jar) for jar in sorted(folder.glob("*.jar")))
