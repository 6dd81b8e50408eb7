"""``kafkastore groups``, ``records`` and ``transactions``, against groups and transactions of real clients."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from peer.broker_process import BrokerProcess
from peer.topics import create_topic
from tools.comparison import ours
from tools.group_scene import LIMIT_S, RECORDS, STEP_MS, Scene, commit, groups


@pytest.fixture(scope="module")
def scene(broker: BrokerProcess) -> Iterator[Scene]:
    with groups(broker.bootstrap, "gv") as made:
        yield made


def said(scene: Scene, *words: str, exit_status: int = 0) -> list[str]:
    """The lines on stdout."""
    result = ours(*words, "-b", scene.bootstrap)
    assert result.exit == exit_status, result
    return result.out.splitlines()


def rows(scene: Scene, *words: str, exit_status: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads("\n".join(said(scene, *words, "--json", exit_status=exit_status)))
    return found


def committed(scene: Scene, group: str) -> dict[tuple[str, int], int]:
    [found] = rows(scene, "groups", "describe", group)
    return {(one["topic"], one["partition"]): one["committed_offset"] for one in found["partitions"]}


def test_a_group_is_described_with_its_lag_in_records_and_in_time(scene: Scene) -> None:
    [empty, busy] = rows(scene, "groups", "describe", scene.empty, scene.busy)[::-1]
    assert (empty["state"], empty["members"], empty["lag"]) == ("Empty", [], 12)
    now_ms = time.time_ns() / 1_000_000
    waited = {(one["topic"], one["partition"]): one["lag_seconds"] for one in empty["partitions"]}
    for key, offset in {(scene.first, 0): 5, (scene.second, 1): 3}.items():
        age_s = (now_ms - scene.last_ms + (RECORDS - 1 - offset) * STEP_MS) / 1000
        assert age_s - 10 < waited[key] <= age_s, "of the first record that is not consumed"
    assert busy["state"] == "Stable"
    assert {one["group_instance_id"] for one in busy["members"]} == {scene.instance, None}
    of_members = {(scene.first, number) for number in range(3)}
    assert {(one["topic"], one["partition"]) for one in busy["partitions"] if one["member_id"]} == of_members
    [line] = [line for line in said(scene, "groups", "describe", scene.other) if line.startswith(scene.first)]
    assert line.split() == [scene.first, "2", "10", "10", "0", "0s", "-", "-"]


def test_times_that_go_back_make_the_wait_no_longer_than_it_is(broker: BrokerProcess, scene: Scene) -> None:
    topic = create_topic(broker.bootstrap, "gv-times", 1)
    now_ms = time.time_ns() // 1_000_000
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for seconds_ago in (500, 90, 300, 80, 70, 60):
        producer.produce(topic, "x", timestamp=now_ms - seconds_ago * 1000)
    assert producer.flush(LIMIT_S) == 0
    for offset, least, most in ((0, 500, 520), (1, 90, 110), (2, 90, 110), (3, 80, 100), (5, 60, 80)):
        commit(broker.bootstrap, "gv-times", {(topic, 0): offset})
        [row] = rows(scene, "groups", "lag", "gv-times")
        assert row["lag"] == 6 - offset
        assert least <= row["lag_seconds"] < most, (offset, row)
    said(scene, "groups", "delete", "gv-times", "--yes")


def test_groups_are_listed_and_those_that_are_not_there_are_told(scene: Scene) -> None:
    found = {one["group"]: one for one in rows(scene, "groups", "list", "--state", "Stable")}
    assert (found[scene.busy]["type"], found[scene.busy]["protocol_type"]) == ("classic", "consumer")
    assert scene.empty not in found
    result = ours("groups", "describe", scene.other, "gv-none", "-b", scene.bootstrap)
    assert result.exit == 1
    assert result.out.startswith(f"{scene.other}: ")
    assert result.err == "gv-none: Group gv-none not found.\n"


RESETS = [
    (["--to", "earliest", "-t", "gv-first:0"], {0: 0}),
    (["--to", "latest", "-t", "gv-first"], {0: 10, 1: 10, 2: 10}),
    (["--to", "current", "-t", "gv-first"], {0: 10, 1: 10, 2: 10}),
    (["--to", "4", "-t", "gv-first:1,2"], {0: 10, 1: 4, 2: 4}),
    (["--by", "-100"], {0: 0, 1: 0, 2: 0}),
    (["--to-time", "66m", "-t", "gv-first:2"], {0: 0, 1: 0, 2: 4}),
    (["--to-time", "2099-01-01T00:00:00Z", "-t", "gv-first:0"], {0: 10, 1: 0, 2: 4}),
    (["--from-file", "FILE"], {0: 10, 1: 7, 2: 4}),
]


def test_offsets_are_shown_first_and_set_with_execute(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "offsets.csv").write_text("gv-first,1,7\n")
    commit(scene.bootstrap, "gv-reset", {(scene.first, 0): 5})
    before = {0: 5}
    for words, after in RESETS:
        given = [str(tmp_path / "offsets.csv") if word == "FILE" else word for word in words]
        shown = rows(scene, "groups", "reset", "gv-reset", *given)
        assert {
            one["partition"]: one["current"] for one in shown if one["current"] is not None
        }.items() <= before.items()
        assert {**before, **{one["partition"]: one["new"] for one in shown}} == after, words
        assert committed(scene, "gv-reset") == {(scene.first, number): offset for number, offset in before.items()}
        rows(scene, "groups", "reset", "gv-reset", *given, "--execute")
        assert committed(scene, "gv-reset") == {(scene.first, number): offset for number, offset in after.items()}
        before = after
    assert said(scene, "groups", "delete-offsets", "gv-reset", "-t", "gv-first:0") == ["gv-first-0: deleted"]
    assert (scene.first, 0) not in committed(scene, "gv-reset")
    assert said(scene, "groups", "delete", "gv-reset", "--dry-run") == ["gv-reset: would be deleted"]
    assert said(scene, "groups", "delete", "gv-reset", "--yes") == ["gv-reset: deleted"]


REFUSED = [
    ("groups reset gv-busy --to latest", "gv-busy is Stable with 2 members; stop them first"),
    ("groups reset gv-none --to latest", "has no offsets; name topics with -t"),
    ("groups reset gv-empty --to nowhere", "--to nowhere is no offset"),
    ("groups reset gv-empty --to-time yesterday", "yesterday is no time"),
    (f"groups reset gv-empty --to-time {1 << 63}", "is later than any time"),
    ("groups reset gv-empty --to-time 99999d", "99999d is before 1970"),
    ("groups reset gv-empty --to latest -t gv-nothing", "gv-nothing: there is no such topic"),
    ("groups reset gv-empty --to latest --by 3", "give one of --to"),
    ("groups reset gv-empty --from-file /nowhere", "cannot be read"),
    ("groups delete gv-busy --yes", "gv-busy: The group is not empty."),
    ("groups delete gv-busy --dry-run", "gv-busy: it has 2 members"),
    ("groups delete-offsets gv-busy -t gv-first", "forbidden while the consumer group is actively subscribed"),
    ("groups remove-member gv-busy gv-nobody", "gv-nobody: group gv-busy has no such member"),
    ("records find gv-first --at soon", "soon is no time"),
    ("records delete gv-first", "give one of --before"),
    ("transactions describe gv-none", "gv-none: The transactionalId could not be found."),
    ("transactions abort gv-first:0 3", "no transaction that begins at 3 is open in gv-first:0"),
    ("transactions abort gv-first 3", "write it as topic:0"),
]


def test_brokers_that_do_not_answer_are_told_at_once() -> None:
    begin = time.monotonic()
    result = ours("groups", "list", "-b", "127.0.0.1:1")
    assert (result.exit, result.out) == (1, "")
    assert "no broker answers (127.0.0.1:1: Connection refused)" in result.err
    assert time.monotonic() - begin < 10.0


def test_name_that_acts_on_a_terminal_is_shown_escaped(scene: Scene) -> None:
    result = ours("groups", "reset", "gv-\x1b[2J", "--to", "latest", "-t", "gv-first", "-b", scene.bootstrap)
    assert (result.exit, "\x1b" in result.err) == (0, False)
    assert result.err.startswith("gv-\\x1b[2J: nothing is set yet")


@pytest.mark.parametrize(("words", "why"), REFUSED)
def test_what_cannot_be_done_is_one_sentence(scene: Scene, words: str, why: str) -> None:
    result = ours(*words.split(), "-b", scene.bootstrap)
    assert result.exit == (2 if why.startswith("give") else 1)
    assert why in result.err
    assert "Traceback" not in result.err


def test_a_static_member_is_removed_by_its_instance(scene: Scene) -> None:
    words = ("groups", "remove-member", scene.busy, scene.instance)
    assert said(scene, *words, "--dry-run") == [f"{scene.instance}: would be removed"]
    assert said(scene, *words) == [f"{scene.instance}: removed"]


def test_records_are_found_by_time_and_deleted_before_it(broker: BrokerProcess, scene: Scene) -> None:
    at = str(scene.last_ms - 3 * STEP_MS)
    found = rows(scene, "records", "find", f"{scene.second}:1", "--at", at)
    assert [(one["offset"], one["timestamp_ms"]) for one in found] == [(RECORDS - 4, scene.last_ms - 3 * STEP_MS)]
    [newest] = rows(scene, "records", "find", f"{scene.second}:0", "--at", "newest")
    assert (newest["offset"], newest["timestamp_ms"]) == (RECORDS - 1, scene.last_ms)
    words = ("records", "delete", scene.second, "--before-time", at)
    assert [one["deleted"] for one in rows(scene, *words)] == [RECORDS - 4] * 2
    assert [one["earliest"] for one in rows(scene, "records", "offsets", scene.second)] == [0, 0]
    rows(scene, *words, "--execute")
    told = rows(scene, "records", "offsets", scene.second)
    assert [(one["earliest"], one["latest"]) for one in told] == [(RECORDS - 4, RECORDS)] * 2


def test_open_transactions_are_told_and_aborted(broker: BrokerProcess, scene: Scene) -> None:
    topic = create_topic(broker.bootstrap, "gv-transactions", 1)

    def opened(name: str) -> Producer:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name, "log_level": 0})
        producer.init_transactions(LIMIT_S)
        producer.begin_transaction()
        producer.produce(topic, name, partition=0)
        assert producer.flush(LIMIT_S) == 0
        return producer

    first, second = opened("gv-first"), opened("gv-second")
    assert {one["state"] for one in rows(scene, "transactions", "list", "--pattern", "gv-.*")} == {"Ongoing"}
    [described] = rows(scene, "transactions", "describe", "gv-first")
    assert (described["partitions"], described["epoch"]) == ([f"{topic}-0"], 0)
    assert described["open_ms"] >= 0
    assert {one["start_offset"] for one in rows(scene, "transactions", "producers", topic)} == {0, 1}
    assert rows(scene, "transactions", "hanging", topic, "--older-than", "0s") == [], "their coordinator knows them"
    words = ("transactions", "abort", f"{topic}:0", "0")
    assert "would be aborted" in said(scene, *words)[0]
    assert said(scene, *words, "--execute")[0].endswith(": aborted")
    assert {one["start_offset"] for one in rows(scene, "transactions", "producers", topic)} == {None, 1}
    assert "Ongoing: would be ended" in said(scene, "transactions", "terminate", "gv-second")[0]
    assert said(scene, "transactions", "terminate", "gv-second", "--execute") == ["gv-second: Ongoing: ended"]
    with pytest.raises(KafkaException) as fenced:
        second.commit_transaction(LIMIT_S)
    assert fenced.value.args[0].code() in (
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
    )
    first.abort_transaction(LIMIT_S)
