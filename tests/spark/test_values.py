"""Typed values beside Spark's own functions: the same rows, for good values and bad ones.

What differs on purpose is in docs/spark-values.md and left out of the compared values.
"""

from __future__ import annotations

import base64
import json
import random
import ssl
import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Self

import pytest
import trustme
from confluent_kafka import Producer
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

from peer.broker_process import BrokerProcess
from peer.kafkastore_broker import KafkastoreBroker
from peer.topics import create_topic
from spark.conftest import FLUSH_LIMIT_S
from spark.session import HAS_CONNECTOR

pytestmark = pytest.mark.skipif(not HAS_CONNECTOR, reason="from_json of another version of Spark gives other rows")

BAD = "_corrupt_record STRING"
JSON_SCHEMA = (
    "id BIGINT, i INT, h SMALLINT, y TINYINT, d DOUBLE, f FLOAT, c DECIMAL(20, 3), s STRING, b BINARY, o BOOLEAN, "
    "day DATE, at TIMESTAMP, clock TIMESTAMP_NTZ, l ARRAY<INT>, ls ARRAY<STRUCT<x: INT, z: STRING>>, "
    f"m MAP<STRING, DOUBLE>, n STRUCT<x: INT, in: STRUCT<p: STRING, q: BIGINT>>, `odd name` STRING, {BAD}"
)
SCALARS = """
    0 1 -1 -0 127 -129 32768 2147483647 2147483648 9223372036854775807 9223372036854775808 1.0 1.10 1.005 -2.5e-3
    1e5 1e7 1e400 12345678901234567890123.5 0.0001 NaN -Infinity +INF true false null "" "x" "5" "NaN" "+INF" "1e2"
    "12,345.678" "+5.5" ".5" "aGVsbG8=" "aGVsbG8" "2024-02-29" "2024-2-3" "2023-02-29" "2024" "2024-02-29T10:11:12.123Z"
    "2024-02-29\\u002010:11:12" "2024-02-29T10" "2024-02-29T10:11:12+02:00" "2024-02-29T10:11:12.1234567-00:30"
    "2024-02-29T10:11:60" "1700000000" 1700000000 "é\\u00e9\\n\\ud83d\\ude00\\ud800" 'single' [] {} [1,2,3] [1,"x"]
    [1,null] [{"x":1,"z":2.50},{}] [{"x":"q"}] [[1]] {"a":1,"b":2.5} {"a":"x"} {"x":1,"in":{"p":7,"q":8}}
    {"x":"no","in":{"p":"yes","q":"no","r":[{}]}} {"in":null} {"in":5} tru nul 01 .5 +1 "\\x" {"a" [1,
"""
NAMES = ("id", "i", "h", "y", "d", "f", "c", "s", "b", "o", "day", "at", "clock", "l", "ls", "m", "n")
BROKEN = {'{"a"', "[1,", '"\\x"', "tru", "nul", "01", ".5", "+1"}
"""Errors of syntax: Spark's parser may go on somewhere behind one."""
DIFFERENT = {
    *(("b", scalar) for scalar in ('"x"', '"5"', '"\\x"', '"1e2"', '".5"', '"+5.5"', '"NaN"', '"+INF"', "'single'")),
    ("at", "9223372036854775807"),
}
"""What Spark parses on from somewhere else after an error, and a time that wraps around."""
WHOLE = [
    *(b"", b"   ", b"{}", b"5", b"null", b'""', b"[]", b'[{"id":1}]', b"{", b'{"id":1', b'{"id":1,}', b'{"id":1 "i":2'),
    *(b"{id:1}", b"{'id':7,'s':'it'}", b'{"ID":1}', b'{"id":1,"id":2}', b'\xef\xbb\xbf{"id":1}', b'{"id":/*c*/1}'),
    *(b'{"s":"\xff\xe2\x82"}', b'{"x":"\xff","id":3}', b'{"odd name":1,"\\u0069d":4}', b'\n{ "id" : 5 }\n'),
    *(b'{"unknown":{"deep":[{"x":tru}]},"id":1}', b'{"unknown":[1,{"a":"\\q"}],"id":1}', b'{"s":"a\nb","id":1}'),
]


def json_values() -> list[bytes | None]:
    """Every scalar in every field, whole texts with mistakes, and random documents."""
    scalars = SCALARS.split()
    good = [scalar for scalar in scalars if scalar not in BROKEN]
    values = [
        f'{{"{name}":{scalar},"odd name":3}}'.encode()
        for name in NAMES
        for scalar in scalars
        if (name, scalar) not in DIFFERENT
    ]
    chosen = random.Random(17)
    for _ in range(400):
        names = chosen.sample([*NAMES, "odd name", "extra", "ext\\u0061"], chosen.randint(0, 12))
        pairs = [(name, chosen.choice(good)) for name in names]
        text = ",".join(f'"{name}": {scalar}' for name, scalar in pairs if (name, scalar) not in DIFFERENT)
        values.append(f"{{{text}}}".encode())
    return [*values, *WHOLE, None]


CSV_SCHEMA = f"a INT, b STRING, c DOUBLE, d DECIMAL(6,2), e DATE, f TIMESTAMP, g BOOLEAN, {BAD}"
CSV_LINES = """\
1,x,2.5,1.005,2024-02-29,2024-02-29T10:11:12Z,true
1,"x,y",2,1e2,2024-2-3,2024-02-29 10:11:12,FALSE
-1, x ," 2",,,,
1,x
1,x,2,3,2024-01-01,2024,true,more
q,x,y,z,w,v,u
 1,x,2,3,2024-01-01,2024,true
,,,,,,
1,"",3,,,,
1,"a""b",3,,,,
1,"a\\"b\\\\",3,,,,
1,"abc,3,4,2024,2024,true
1,ab"c,3,,,,
1,x,NaN,,,,
1,x,-Inf,,,,
1,x,1d,"1,234.5",,,
+1,x,1e5,123456,,,
"1","x" ,"2",,,,
1,'x',3,,2024-02-30,,yes
1.0,null,1_0,,,,
1;x;2
 """
CSV_VALUES: list[bytes | None] = [*(line.encode() for line in CSV_LINES.split("\n")), b"", b"  ", None]


def fill(broker: BrokerProcess, topic: str, values: Iterable[bytes | None]) -> None:
    create_topic(broker.bootstrap, topic)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": "zstd"})
    for number, value in enumerate(values):
        producer.produce(topic, value, f"key-{number}".encode())
    assert producer.flush(FLUSH_LIMIT_S) == 0


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with KafkastoreBroker(tmp_path_factory.mktemp("values")).running() as broker:
        fill(broker, "json", json_values())
        fill(broker, "csv", CSV_VALUES)
        fill(broker, "few", [b'{"a":1,"b":"x"}', b'{"a":"bad","b":"y"}', None, b"{", b'{"b":"z","a":5}'])
        yield broker


def read(spark: SparkSession, broker: BrokerProcess, topic: str, **options: str) -> DataFrame:
    place = {"path": str(broker.log_dir), "kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic}
    return spark.read.format("kafkastore").options(**place, **options).load()


def texts(frame: DataFrame, value: Column) -> list[tuple[int, str | None]]:
    """Offset and value of each row; as text, where NaN equals NaN."""
    rows = frame.select("offset", value.cast("string").alias("text")).orderBy("offset").collect()
    return [(row.offset, row.text) for row in rows]


def assert_equal(found: list[Any], expected: list[Any], values: list[bytes | None]) -> None:
    different = [
        (value, one[1], other[1]) for value, one, other in zip(values, found, expected, strict=True) if one != other
    ]
    assert different == []


def test_json_equals_from_json(spark: SparkSession, broker: BrokerProcess) -> None:
    ours = read(spark, broker, "json", valueFormat="json", valueSchema=JSON_SCHEMA)
    raw = read(spark, broker, "json")
    theirs = F.from_json(F.col("value").cast("string"), JSON_SCHEMA)
    assert ours.schema["value"].dataType == raw.select(theirs.alias("j")).schema["j"].dataType
    values = json_values()
    assert len(values) > 1500
    assert_equal(texts(ours, F.col("value")), texts(raw, theirs), values)
    # without the column of bad values, and of some fields alone
    schema = JSON_SCHEMA.removesuffix(f", {BAD}")
    pruned = read(spark, broker, "json", valueFormat="json", valueSchema=json.dumps(json_schema(spark, schema)))
    some = F.struct("value.n.in.p", "value.at", "value.ls.z", "value.l", "value.m")
    plan = str(pruned.select(some)._jdf.queryExecution().executedPlan())
    assert "value struct<at:timestamp" in plan
    assert "id:" not in plan.partition("kafkastore")[2]
    parsed = raw.withColumn("value", F.from_json(F.col("value").cast("string"), schema))
    assert_equal(texts(pruned, some), texts(parsed, some), values)


def json_schema(spark: SparkSession, ddl: str) -> dict[str, Any]:
    return dict(spark.createDataFrame([], ddl).schema.jsonValue())


def test_csv_equals_from_csv(spark: SparkSession, broker: BrokerProcess) -> None:
    ours = read(spark, broker, "csv", valueFormat="csv", valueSchema=CSV_SCHEMA)
    theirs = F.from_csv(F.col("value").cast("string"), CSV_SCHEMA)
    assert_equal(texts(ours, F.col("value")), texts(read(spark, broker, "csv"), theirs), CSV_VALUES)


def test_modes_leave_out_or_fail(spark: SparkSession, broker: BrokerProcess) -> None:
    given = {"valueFormat": "json", "valueSchema": "a BIGINT, b STRING"}
    dropping = read(spark, broker, "few", mode="DROPMALFORMED", **given)
    for frame in (dropping.select("offset"), dropping.select("offset", "value.b")):
        assert sorted(row.offset for row in frame.collect()) == [0, 2, 4]
    assert dropping.count() == 3
    assert dropping.agg(F.max("offset"), F.count("value.b")).collect()[0] == (4, 2)
    assert len(dropping.limit(2).collect()) == 2
    failing = read(spark, broker, "few", mode="FAILFAST", **given)
    reason = r"few-0: the value at offset 1 is malformed: field a has .bad., which is not of the type BIGINT"
    with pytest.raises(Exception, match=reason):
        failing.select("value.b").collect()
    assert failing.filter("offset = 4").select("value.a").collect() == [(5,)]
    assert sorted(failing.select("offset").collect()) == [(number,) for number in range(5)]


def test_streams_parse_values(spark: SparkSession, broker: BrokerProcess, tmp_path: Path) -> None:
    given = {"valueFormat": "json", "valueSchema": "a BIGINT, b STRING", "startingOffsets": "earliest"}
    stream = spark.readStream.format("kafkastore").options(path=str(broker.log_dir), subscribe="few", **given).load()
    query = (
        stream.select("offset", "value.a", "value.b")
        .writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(120)
    rows = sorted(map(tuple, spark.read.parquet(str(tmp_path / "out")).collect()))
    assert rows == [(0, 1, "x"), (1, None, "y"), (2, None, None), (3, None, None), (4, 5, "z")]


WRITER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "amount", "type": ["null", "double"]},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "price", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 3}]},
        {"name": "tags", "type": ["null", {"type": "array", "items": ["null", "string"]}]},
        {"name": "m", "type": ["null", {"type": "map", "values": ["null", "int"]}]},
        {
            "name": "in",
            "type": ["null", {"type": "record", "name": "In", "fields": [{"name": "x", "type": ["null", "float"]}]}],
        },
    ],
}


def avro_values(spark: SparkSession) -> list[bytes | None]:
    """As Spark's own to_avro writes them, and the same cut or changed."""
    from pyspark.sql.avro.functions import to_avro

    frame = spark.range(60).selectExpr(
        "id - 5 as id",
        "if(id % 3 = 0, null, id / 7) as amount",
        "date_add(date'1960-01-01', cast(id * 1000 as int)) as day",
        "timestamp_micros(id * 86399999999) as at",
        "if(id % 4 = 0, null, cast(id * id - 50.1234 as decimal(20, 3))) as price",
        "if(id % 5 = 0, null, array('a', null, cast(id as string))) as tags",
        "map('k', if(id % 7 = 0, null, cast(id as int))) as m",
        "if(id % 6 = 0, null, named_struct('x', cast(id as float))) as in",
    )
    rows = frame.select(to_avro(F.struct("*"), json.dumps(WRITER)).alias("v")).collect()
    good = [bytes(row.v) for row in rows]
    chosen = random.Random(3)
    cut = [value[: chosen.randrange(len(value))] for value in good]
    return [*good, *cut, b"", b"\xff" * 30, None]


def test_avro_equals_from_avro(spark: SparkSession, broker: BrokerProcess) -> None:
    from pyspark.sql.avro.functions import from_avro

    values = avro_values(spark)
    fill(broker, "avro", values)
    ours = read(spark, broker, "avro", valueFormat="avro", valueSchema=json.dumps(WRITER))
    theirs = from_avro("value", json.dumps(WRITER), {"mode": "PERMISSIVE"})
    assert_equal(texts(ours, F.col("value")), texts(read(spark, broker, "avro"), theirs), values)


REGIONS = (
    "Europe/Paris",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Pacific/Apia",
    "PST",
    "US/Hawaii",
)


def test_times_of_regions_are_sparks(spark: SparkSession, broker: BrokerProcess) -> None:
    """Clocks' readings of 1970 to 2037, those that a region has twice or never too, and texts that name a region."""
    chosen = random.Random(8)
    start = datetime(1970, 1, 2, tzinfo=UTC)  # of no zone
    shown = [start + timedelta(minutes=30 * chosen.randrange(67 * 365 * 48)) for _ in range(3000)]
    for year in range(2000, 2030):  # the half hours around changes of the clocks in Paris, New York and Lord Howe
        for month in (3, 4, 10, 11):
            shown += [datetime(year, month, 1, tzinfo=UTC) + timedelta(minutes=30 * n) for n in range(0, 48 * 14, 5)]
    names = [*REGIONS, "europe/paris", "Nowhere/Atlantis"]
    values = [f'{{"at": "{one:%Y-%m-%d %H:%M:%S}"}}' for one in shown]
    values += [f'{{"at": "{one:%Y-%m-%dT%H:%M:%S} {chosen.choice(names)}"}}' for one in shown[:2000]]
    fill(broker, "regions", [value.encode() for value in values])
    schema = "at TIMESTAMP"
    for region in REGIONS:
        ours = read(spark, broker, "regions", valueFormat="json", valueSchema=schema, timeZone=region)
        theirs = F.from_json(F.col("value").cast("string"), schema, {"timeZone": region})
        wanted = read(spark, broker, "regions").select("offset", F.unix_micros(theirs["at"]).alias("at"))
        found = ours.select("offset", F.unix_micros("value.at").alias("at"))
        assert found.exceptAll(wanted).union(wanted.exceptAll(found)).limit(3).collect() == [], region
    nulls = found.where("at IS NULL").count()
    assert 300 < nulls < 700, "texts of the two regions that are none"


class Registry:
    """Answers as Confluent's schema registry: id 7 and the latest schema of avro-framed-value are the writer's. With an
    ``authority`` it answers HTTPS, and only who says ``user_info``."""

    def __init__(self, authority: trustme.CA | None = None, user_info: str | None = None) -> None:
        self._authority = authority
        self._wanted = user_info and "Basic " + base64.b64encode(user_info.encode()).decode()

    def __enter__(self) -> Self:
        wanted = self._wanted

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if wanted is not None and self.headers["Authorization"] != wanted:
                    self.send_error(401)
                    return
                is_known = self.path in ("/schemas/ids/7", "/subjects/avro-framed-value/versions/latest")
                body = json.dumps({"schema": json.dumps(WRITER)} if is_known else {"error_code": 40403}).encode()
                self.send_response(200 if is_known else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        if self._authority is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._authority.issue_cert("127.0.0.1").configure_cert(context)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            self.url = self.url.replace("http://", "https://")
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def test_schemas_come_from_a_registry(spark: SparkSession, broker: BrokerProcess) -> None:
    reader = {
        **WRITER,
        "fields": [
            {"name": "identity", "aliases": ["id"], "type": "double"},
            {"name": "added", "type": "string", "default": "none"},
        ],
    }
    good = [value for value in avro_values(spark)[:60] if value is not None]
    fill(broker, "avro-framed", [b"\0\0\0\0\7" + value for value in good])
    with Registry() as registry:
        given = {"valueFormat": "avro", "valueFraming": "confluent", "schemaRegistryUrl": registry.url}
        whole = read(spark, broker, "avro-framed", **given)
        assert [row.id for row in whole.select("value.id").collect()] == list(range(-5, 55))
        resolved = read(spark, broker, "avro-framed", valueSchema=json.dumps(reader), **given)
        rows = [tuple(row.value) for row in resolved.collect()]
        assert rows == [(float(number), "none") for number in range(-5, 55)]
        fill(broker, "avro-unknown", [b"\0\0\0\0\x08" + good[0]])
        unknown = read(spark, broker, "avro-unknown", valueSchema=json.dumps(reader), **given)
        with pytest.raises(Exception, match=f"schemaRegistryUrl: {registry.url} has no schema id 8"):
            unknown.collect()
    with pytest.raises(Exception, match=f"schemaRegistryUrl: {registry.url} cannot be asked for subject avro-framed"):
        read(spark, broker, "avro-framed", **given)


def test_a_registry_is_asked_over_https_with_a_password(
    spark: SparkSession, broker: BrokerProcess, tmp_path: Path
) -> None:
    """The certificate is checked against the authorities of a file; the password is in no plan."""
    good = [value for value in avro_values(spark)[:60] if value is not None]
    fill(broker, "avro-secured", [b"\0\0\0\0\7" + value for value in good])
    authority, another = trustme.CA(), trustme.CA()
    files = {name: tmp_path / f"{name}.pem" for name in ("authority", "another")}
    authority.cert_pem.write_to_path(files["authority"])
    another.cert_pem.write_to_path(files["another"])
    with Registry(authority, "me:hidden") as registry:
        given = {
            "valueFormat": "avro",
            "valueFraming": "confluent",
            "schemaRegistryUrl": registry.url,
            "schemaRegistrySubject": "avro-framed-value",
            "schemaRegistrySslCaLocation": str(files["authority"]),
            "schemaRegistryBasicAuthUserInfo": "me:hidden",
        }
        rows = read(spark, broker, "avro-secured", **given)
        assert [row.id for row in rows.select("value.id").collect()] == list(range(-5, 55))
        assert "hidden" not in str(rows._jdf.queryExecution().executedPlan())
        for changed, told in (
            ({"schemaRegistrySslCaLocation": str(files["another"])}, "cannot be asked for subject .*certificate"),
            ({"schemaRegistrySslCaLocation": ""}, "cannot be asked for subject .*certificate"),
            ({"schemaRegistryBasicAuthUserInfo": "me:wrong"}, "refuses the question .* HTTP status 401; set schemaReg"),
            ({"schemaRegistryUrl": registry.url.replace("127.0.0.1", "localhost")}, "cannot be asked .*certificate"),
        ):
            with pytest.raises(Exception, match=f"schemaRegistryUrl: https://.* {told}"):
                read(spark, broker, "avro-secured", **given | changed)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"valueFormat": "xml"}, "valueFormat: xml is none; say json, csv, avro, protobuf"),
        ({"valueFormat": "json"}, "valueSchema: missing; give Spark's DDL"),
        ({"valueSchema": "a INT"}, "valueSchema: means nothing without valueFormat"),
        ({"valueFormat": "json", "valueSchema": "a BLOB"}, "valueSchema: .a BLOB. is wrong at character 3"),
        ({"valueFormat": "json", "valueSchema": "a INT", "mode": "SLOW"}, "mode: SLOW is none; say PERMISSIVE"),
        ({"valueFormat": "csv", "valueSchema": "a ARRAY<INT>"}, "field a is of the type ARRAY, which CSV cannot have"),
        ({"valueFormat": "avro", "valueSchemaFile": "/nowhere.avsc"}, "valueSchemaFile: /nowhere.avsc cannot be read"),
        ({"valueFormat": "protobuf"}, "valueSchemaFile: missing; name a .proto file"),
        (
            {"valueFormat": "json", "valueSchema": "a TIMESTAMP", "timeZone": "Europe/Nowhere"},
            "timeZone: Europe/Nowhere is none; say UTC, an offset such as .02:00, or a region such as Europe/Paris",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_mistake_in_an_option_of_values_is_one_sentence(
    spark: SparkSession, broker: BrokerProcess, options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(Exception, match=sentence):
        read(spark, broker, "few", **options)
