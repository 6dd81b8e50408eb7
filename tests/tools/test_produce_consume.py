"""``kafkastore produce`` and ``kafkastore consume``: what is written is what is read, of one broker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from peer.broker_process import BrokerProcess
from tools.comparison import ours


def produce(broker: BrokerProcess, topic: str, *words: str, stdin: str = "") -> Any:
    return ours("produce", "-b", broker.bootstrap, topic, *words, stdin=stdin)


def consume(broker: BrokerProcess, *words: str) -> Any:
    return ours("consume", "-b", broker.bootstrap, *words)


def read(broker: BrokerProcess, topic: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in consume(broker, topic, "-e", "--json").out.splitlines()]
    return [{name: one.get(name) for name in ("key", "value", "headers", "partition")} for one in found]


def record(value: str | None, key: str | None = None, headers: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
    return {
        "key": key,
        "value": value,
        "headers": [{"key": name, "value": text} for name, text in headers],
        "partition": 0,
    }


WRITTEN = [
    ("", "a\nb\r\n\nc", [record("a"), record("b"), record(""), record("c")]),
    ("-k k -H h=1 -H g= -H h=2 -z gzip", "a\n", [record("a", "k", (("h", "1"), ("g", ""), ("h", "2")))]),
    ("-K : -Z", "k:v:w\nk:\n", [record("v:w", "k"), record(None, "k")]),
    ("-K \\t -D ;", "k\tv;l\tw\n", [record("v", "k"), record("w", "l")]),
    ("--format raw", "a\nb\n", [record("a\nb\n")]),
    ("--transaction -z zstd", "a\n", [record("a")]),
    ("-a 1 -p 0", "a\n", [record("a")]),
    (
        "--format json",
        '{"key": "k", "value": {"a": "é"}, "headers": {"x": "y"}}\n',
        [record('{"a": "é"}', "k", (("x", "y"),))],
    ),
    (
        "--json",
        '{"value_base64": "YQ==", "headers": [{"key": "x", "value": "y"}]}\n',
        [record("a", None, (("x", "y"),))],
    ),
]


@pytest.mark.parametrize(("words", "stdin", "records"), WRITTEN)
def test_records_are_read_as_they_were_written(
    words: str, stdin: str, records: list[dict[str, Any]], broker: BrokerProcess
) -> None:
    topic = f"pc-{[one[:2] for one in WRITTEN].index((words, stdin))}"
    result = produce(broker, topic, *words.split(), stdin=stdin)
    count = f"{len(records)} record{'' if len(records) == 1 else 's'}"
    assert (result.exit, result.out, result.err) == (0, f"{topic}: {count} written\n", "")
    assert read(broker, topic) == records


BAD = [
    ("--format json", '{"value": "a"}\n{"val', 1, "line 2: it is no JSON"),
    ("--format json", '{"value": "a"}\n[1]\n', 1, "line 2: it is no object"),
    ("--format json", '{"value": "a"}\n{"value": "b", "time": 1}\n', 1, "line 2: it has the unknown field time"),
    ("--format json", '{"key": "a"}\n', 0, "line 1: it has no value"),
    ("--format json", '{"value": "a", "timestamp": "noon"}\n', 0, "line 1: 'noon' is no time"),
    ("--format json", '{"value": [1e400]}\n', 0, "line 1: it has a number that JSON has not"),
    ("--format json", '{"value": "a", "partition": 2147483648}\n', 0, "line 1: its partition is 2147483648"),
    (
        "--format json",
        '{"value": "a", "timestamp": 9223372036854775808}\n',
        0,
        "line 1: 9223372036854775808 is no time",
    ),
    ("--format json", '{"value": "a", "headers": {"b": "\\ud800"}}\n', 0, "line 1: it has '\\ud800', which is half a"),
    ("--format json", "[" * 100_000, 0, "line 1: it is no JSON: it nests too deeply"),
    ("-K :", "k:v\nw\n", 1, "line 2: it has no key separator ':'"),
    ("--transaction -K :", "k:v\nw\n", 0, "line 2: it has no key separator ':'"),
]


@pytest.mark.parametrize(("words", "stdin", "written", "sentence"), BAD)
def test_line_that_is_no_record_ends_it_and_says_what_is_written(
    words: str, stdin: str, written: int, sentence: str, broker: BrokerProcess
) -> None:
    topic = f"pc-bad-{[one[:2] for one in BAD].index((words, stdin))}"
    assert produce(broker, topic, stdin="first\n").exit == 0
    result = produce(broker, topic, *words.split(), stdin=stdin)
    assert (result.exit, result.out) == (1, "")
    assert f"{topic}: {written} record" in result.err
    assert f"kafkastore produce: {sentence}" in result.err
    assert len(read(broker, topic)) == written + 1


def test_places_files_and_refusals_are_told(broker: BrokerProcess, tmp_path: Path) -> None:
    assert produce(broker, "pc-places", "-v", stdin="a\nb\n").out == "0@0\n0@1\n"
    reported = produce(broker, "pc-places", "--report", "json", stdin="a\n").out
    assert json.loads(reported) == {"record": 1, "topic": "pc-places", "partition": 0, "offset": 2}
    (tmp_path / "file").write_bytes(b"\xff\n\0")
    assert produce(broker, "pc-places", str(tmp_path / "file")).exit == 0
    assert '"value_base64": "/woA"' in consume(broker, "pc-places", "-o", "3", "-e", "--json").out
    large = produce(broker, "pc-places", stdin="x" * 2_000_000)
    assert large.exit == 1
    assert "1 record is not written: MESSAGE_TOO_LARGE" in large.err
    assert produce(broker, "pc-places", "-", stdin="a\nb\n").out == "pc-places: 2 records written\n"
    missing = produce(broker, "pc-places", str(tmp_path / "none"))
    assert (missing.exit, missing.err.splitlines()[-1]) == (
        1,
        f"kafkastore produce: {tmp_path / 'none'} cannot be read: No such file or directory",
    )


def test_bytes_of_the_command_line_that_are_no_text_are_written_as_they_are(broker: BrokerProcess) -> None:
    byte, topic = "\udcff", "pc-bytes"  # 0xff, as Python gives it
    assert produce(broker, topic, "-k", byte, "-H", f"h={byte}", stdin="a\n").exit == 0
    assert produce(broker, topic, "-D", byte, stdin="a\n").exit == 0
    printed = ours("consume", "-b", broker.bootstrap, topic, "-e", "-f", f"%k{byte}").out
    assert printed == "\N{REPLACEMENT CHARACTER}" * 3
    printed = consume(broker, topic, "-n", "1", "--json").out
    assert (json.loads(printed)["key_base64"], json.loads(printed)["headers"][0]["value_base64"]) == ("/w==", "/w==")
    for words in (["produce", f"n{byte}"], ["topics", "describe", f"n{byte}"], ["users", "list", f"n{byte}"]):
        refused = ours(*words, "-b", broker.bootstrap)
        assert (refused.exit, refused.err.count("\n")) == (2, 1)
        assert "what is given has a text that is not UTF-8" in refused.err
    refused = produce(broker, topic, "-H", f"{byte}=1")
    assert (refused.exit, "the name of a header is text" in refused.err) == (2, True)


@pytest.fixture(scope="module")
def numbers(broker: BrokerProcess) -> str:
    """A topic of ten records, whose times are 1000, 2000 and so on, and whose values are JSON but for the last."""
    rows = [{"key": f"k{n}", "value": {"n": n}, "timestamp": 1000 * (n + 1)} for n in range(9)]
    rows.append({"key": "last", "value": "no json", "timestamp": 10_000})
    kept = ("-c", "retention.ms=-1")  # they are of 1970
    assert ours("topics", "create", "pc-n", *kept, "-b", broker.bootstrap).exit == 0
    assert produce(broker, "pc-n", "--format", "json", stdin="\n".join(map(json.dumps, rows))).exit == 0
    return "pc-n"


READ = [
    ("-e", "0123456789"),
    ("-o 3 -e", "3456789"),
    ("-o -3 -e", "789"),
    ("-o +8 -e", "89"),
    ("-o 2:4", "23"),
    ("-o :2", "01"),
    ("-o @1970-01-01T00:00:05Z:@1970-01-01T00:00:07Z", "45"),
    ("-o @8 -e", "789"),
    ("-o @1h -e", ""),
    ("-o @-90d -e", ""),
    ("-o @999999999 -e", ""),
    ("-n 3", "012"),
    ("-p 0 -n 1", "0"),
    ("-g pc-g -e", "0123456789"),
    ("-g pc-new -n 3", "012"),
    ("-g pc-begin -o begin -n 2", "01"),
]


@pytest.mark.parametrize(("words", "offsets"), READ)
def test_offsets_say_what_is_read(words: str, offsets: str, numbers: str, broker: BrokerProcess) -> None:
    result = consume(broker, numbers, *words.split(), "-f", "%o")
    assert (result.exit, result.out, result.err) == (0, offsets, "")


def test_records_are_printed_as_they_are_asked_for(numbers: str, broker: BrokerProcess) -> None:
    pattern = "%t %p %o %T %d %k=%v [%h] %K %V %e %%\\x21\\n"
    printed = consume(broker, numbers, "-n", "1", "-f", pattern).out
    assert printed == 'pc-n 0 0 1000 1970-01-01T00:00:01.000Z k0={"n": 0} [] 2 8 0 %!\n'
    assert consume(broker, "^pc-[n]", "-n", "1", "--format", "raw").out == '{"n": 0}'
    whole = json.loads(consume(broker, numbers, "-n", "2", "--format", "json").out)
    assert [one["value"] for one in whole] == ['{"n": 0}', '{"n": 1}']
    decoded = ["--value-format", "json", "--value-schema", "n int", "-o", "8:10", "--json"]
    result = consume(broker, numbers, *decoded)
    rows = [json.loads(line) for line in result.out.splitlines()]
    assert rows[0]["value"] == {"n": 8}
    assert rows[1]["value"] == "no json"
    assert "value_error" in rows[1]
    assert (result.exit, result.err.startswith("kafkastore consume: pc-n-0@9: ")) == (1, True)


def test_filter_is_sql_over_records(numbers: str, broker: BrokerProcess) -> None:
    for condition, offsets in (
        ("(value->>'n')::int > 6", "78"),
        ("key = 'last' or offset = 2", "29"),
        ("timestamp < '1970-01-01 00:00:03Z' and partition = 0", "01"),
        ("headers['x'] is not null", ""),
    ):
        assert consume(broker, numbers, "-e", "-f", "%o", "--filter", condition).out == offsets
    assert produce(broker, "pc-twice", "-H", "x=1", "-H", "x=2", stdin="a\n").exit == 0
    assert consume(broker, "pc-twice", "-e", "-f", "%h", "--filter", "headers['x'] = '2'").out == "x=1,x=2"
    refused = consume(broker, numbers, "-e", "--filter", "nosuch > 1")
    assert (refused.exit, refused.out) == (1, "")
    assert refused.err.startswith("kafkastore consume: --filter: Binder Error")


REFUSED = [
    ("pc-none -e", 1, "there is no topic pc-none; see kafkastore topics list"),
    ("pc-n -p 7 -e", 1, "--partition 7: no topic has that partition"),
    ("pc-n -o x -e", 1, "--offset x: x is no offset"),
    ("pc-n -o @noon -e", 1, "--offset @noon: noon is no time"),
    ("pc-n -f %y -e", 1, "--format-string: %y means nothing"),
    ("[ -r -e", 1, "TOPIC [ is no regular expression"),
    ("pc-n -p x", 2, "--partition x is no number and no range"),
    ("pc-n -p 5-1 -e", 2, "--partition 5-1 is no number and no range"),
    ("pc-n -p 1-999999999 -e", 1, "--partition 1: no topic has that partition"),
    ("pc-n -o 5:1 -e", 1, "--offset 5:1: it ends before it begins"),
    (f"pc-n -o {1 << 63} -e", 1, f"--offset {1 << 63}: {1 << 63} is larger than any offset"),
    (f"pc-n -o @{'9' * 20} -e", 1, f"--offset @{'9' * 20}: {'9' * 20} is later than any time"),
    ("pc-n -e -b a..b:1", 1, "--bootstrap-server: no broker answers (a..b:1: its host can be no name of a host)"),
    ("pc-n -g g -o 1", 2, "--group reads from its committed offsets"),
    ("pc-n -f json", 2, "--format-string json would print that word; write it as --format json"),
    ("pc-n --value-schema x", 2, "--value-format is missing"),
    ("pc-n -e --value-format avro", 1, ""),
    ("pc-n -e -g g -X partition.assignment.strategy=sticky", 1, "partition.assignment.strategy: sticky is none of"),
    ("pc-n -e -X auto.offset.reset=soon", 1, "auto.offset.reset"),
]


@pytest.mark.parametrize(("words", "status", "sentence"), REFUSED)
def test_mistakes_are_one_sentence(words: str, status: int, sentence: str, numbers: str, broker: BrokerProcess) -> None:
    result = consume(broker, *words.split())
    assert (result.exit, result.out) == (status, "")
    assert result.err.startswith(f"kafkastore consume: {sentence}")
    assert result.err.count("\n") == 1
