"""The jars of Apache Kafka, fetched once through Maven into a cache folder, and our small Java program compiled against
them.

`pom.xml` beside this file pins every version, `pom-2.0.xml` those of the last tools that go through ZooKeeper,
`pom-spark.xml` Spark's own Kafka source; a folder's name carries the checksum of its pom, so a changed pom fetches
anew.
"""

from __future__ import annotations

from pathlib import Path

from peer.cache import digest, filled

HERE = Path(__file__).parent
JAVA_SOURCES = HERE / "java"
PROGRAM_JAR = "program.jar"


def jars(name: str = "pom.xml") -> Path:
    """The folder of jars."""
    pom = HERE / name
    command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", "-DoutputDirectory={}"]
    return filled(f"jars-{digest(pom)}", command)


def program_jar() -> Path:
    """The compiled classes of `java/` and the script of transactions that the old clients run too, and
    log4j2.properties. In a jar, since an archive of classes (`class_data.py`) is for class paths without folders."""
    sources = [*sorted(JAVA_SOURCES.glob("*.java")), JAVA_SOURCES / "versions" / "TransactionScript.java"]
    log_settings = HERE / "log4j2.properties"
    compile_them = ["javac", "-nowarn", "-proc:none", "-d", "{}", "-cp", f"{jars()}/*", *map(str, sources)]
    classes = filled(f"classes-{digest(*sources, HERE / 'pom.xml')}", compile_them)
    pack = ["jar", "--create", "--file", f"{{}}/{PROGRAM_JAR}", "-C", str(classes), "."]
    pack += ["-C", str(HERE), log_settings.name]
    return filled(f"program-{digest(*sources, log_settings, HERE / 'pom.xml')}", pack) / PROGRAM_JAR


def classpath() -> str:
    """Kafka's jars and `program_jar()`."""
    return f"{jars()}/*:{program_jar()}"


def connector_jars() -> str:
    """Spark's own Kafka source, as `spark.jars` takes it."""
    return ",".join(str(jar) for jar in sorted(jars("pom-spark.xml").glob("*.jar")))


if __name__ == "__main__":
    classpath()  # fills all caches
    jars("pom-2.0.xml")
    jars("pom-spark.xml")
