"""``kafkastore acls``, ``users``, ``quotas`` and ``tokens``, against a started broker with an authorizer."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from peer.broker_process import wait_until
from tools.comparison import ours
from tools.guarded import SCRAM_MECHANISMS, Guarded
from tools.terminal import asked

LIMIT_S = 10.0
"""Apache Kafka answers a change before its brokers know it."""


def done(guarded: Guarded, *words: str, stdin: str = "") -> list[str]:
    """What a verb prints that refuses nothing."""
    result = ours(*words[:2], "-b", guarded.bootstrap, *words[2:], stdin=stdin)
    assert (result.exit, result.err) == (0, ""), words
    return result.out.splitlines()


def refused(guarded: Guarded, *words: str) -> tuple[int, str]:
    result = ours(*words[:2], "-b", guarded.bootstrap, *words[2:])
    return result.exit, result.err.strip()


def rows(guarded: Guarded, *words: str) -> Any:
    return json.loads("".join(done(guarded, *words, "--json")))


def test_acls_of_roles_are_added_listed_and_removed(guarded: Guarded) -> None:
    role = ("--principal", "alice", "--producer", "--consumer", "--topic", "va-t", "--group", "va-g")
    expected = [f"User:alice may {one} Topic va-t" for one in ("Write", "Describe", "Create", "Read")]
    expected.append("User:alice may Read Group va-g")
    assert done(guarded, "acls", "add", *role, "--dry-run") == [f"{one}: would be added" for one in expected]
    assert done(guarded, "acls", "add", *role) == [f"{one}: added" for one in expected]
    assert done(guarded, "acls", "add", *role) == [f"{one}: is there" for one in expected]
    prefix = ("--principal", "User:bob", "--deny", "--operation", "read", "--prefix", "--topic", "va-", "--host", "::1")
    words = "User:bob may not Read Topic with names that begin with va- from ::1"
    assert done(guarded, "acls", "add", *prefix) == [f"{words}: added"]
    assert len(rows(guarded, "acls", "list", "--topic", "va-t")) == 4
    affecting = rows(guarded, "acls", "list", "--topic", "va-t", "--affecting", "--principal", "bob")
    assert affecting == [
        {
            "principal": "User:bob",
            "permission": "Deny",
            "operation": "Read",
            "resource_type": "Topic",
            "pattern_type": "prefixed",
            "resource": "va-",
            "host": "::1",
        }
    ]
    preview = done(guarded, "acls", "remove", "--topic", "va-t", "--operation", "write", "--dry-run")
    assert preview == ["User:alice may Write Topic va-t: would be removed"]
    status, error = refused(guarded, "acls", "remove", "--topic", "va-t", "--operation", "write")
    assert (status, error.splitlines()[0]) == (2, "User:alice may Write Topic va-t")
    assert len(done(guarded, "acls", "remove", "--principal", "alice", "--yes")) == 5
    assert done(guarded, "acls", "remove", "--deny", "--topic", "va-", "--prefix", "--yes") == [f"{words}: removed"]
    assert rows(guarded, "acls", "list") == []


def test_acls_that_mean_nothing_are_refused_with_one_sentence(guarded: Guarded) -> None:
    for words in (
        ("add", "--topic", "x", "--operation", "read"),
        ("add", "--principal", "a", "--operation", "read"),
        ("add", "--principal", "a", "--topic", "x"),
        ("add", "--principal", "a", "--topic", "x", "--operation", "CreateTokens"),
        ("add", "--principal", "a", "--topic", "x", "--consumer"),
        ("add", "--principal", ":a", "--topic", "x", "--operation", "read"),
        ("add", "--principal", "a", "--topic", "x", "--consumer", "--group", "g", "--operation", "read"),
        ("remove", "--yes"),
    ):
        status, error = refused(guarded, "acls", *words)
        assert (status, error.count("\n")) == (2, 0), error


def test_users_are_set_listed_and_deleted(guarded: Guarded) -> None:
    words = ("users", "set", "va-dave", "--password-stdin")
    assert done(guarded, *words, stdin="secret\n") == ["va-dave: the password for SCRAM-SHA-512 is set"]
    options = ("-m", "scram-sha-256", "--iterations", "5000", "--password", "x")
    assert done(guarded, "users", "set", "va-dave", *options) == ["va-dave: the password for SCRAM-SHA-256 is set"]
    both = [
        {"user": "va-dave", "mechanism": "SCRAM-SHA-256", "iterations": 5000},
        {"user": "va-dave", "mechanism": "SCRAM-SHA-512", "iterations": 4096},
    ]
    wait_until(lambda: rows(guarded, "users", "list", "va-dave") == both, LIMIT_S, "both credentials are known")
    assert refused(guarded, "users", "list", "va-none") == (1, "va-none: there is no such user")
    assert done(guarded, "users", "delete", "va-dave", "-m", "SCRAM-SHA-512", "--dry-run") == [
        "va-dave: SCRAM-SHA-512 would be deleted"
    ]
    assert refused(guarded, "users", "delete", "va-dave")[0] == 2
    result = ours("users", "delete", "-b", guarded.bootstrap, "va-dave", "va-none", "--yes")
    assert (result.exit, result.err) == (1, "va-none: there is no such user\n")
    assert result.out == "va-dave: SCRAM-SHA-256 deleted\nva-dave: SCRAM-SHA-512 deleted\n"
    assert refused(guarded, "users", "set", "va-eve")[0] == 2


def logs_in(login: list[str]) -> bool:
    return ours("topics", "list", *login).exit == 0


def test_a_user_logs_in_with_the_password_alone(guarded: Guarded) -> None:
    for mechanism in SCRAM_MECHANISMS:
        words = ("users", "set", "va-gil", "-m", mechanism, "--password-stdin")
        done(guarded, *words, stdin="pä ss\n")
        login = guarded.login("va-gil", mechanism, "pä ss")
        wait_until(partial(logs_in, login), LIMIT_S, "the password is known")
        assert ours("topics", "list", *guarded.login("va-gil", mechanism, "pä s")).exit == 1
    done(guarded, "users", "delete", "va-gil", "--yes")


def test_a_password_is_asked_for_twice_and_not_shown(guarded: Guarded) -> None:
    status, shown = asked(["users", "set", "-b", guarded.bootstrap, "va-fay"], "hidden", "hidden")
    assert "hidden" not in shown
    assert (status, shown.splitlines()[-1]) == (0, "va-fay: the password for SCRAM-SHA-512 is set")
    assert done(guarded, "users", "delete", "va-fay", "--yes") == ["va-fay: SCRAM-SHA-512 deleted"]


def test_quotas_are_set_listed_and_removed(guarded: Guarded) -> None:
    assert done(guarded, "quotas", "set", "--user", "va-u", "producer_byte_rate=10Mi", "request_percentage=0.5") == [
        "user va-u: producer_byte_rate is 10485760 (was not set)",
        "user va-u: request_percentage is 0.5 (was not set)",
    ]
    both = ("--user", "va-u", "--client-id-default")
    assert done(guarded, "quotas", "set", *both, "consumer_byte_rate=1M") == [
        "user va-u client-id <default>: consumer_byte_rate is 1000000 (was not set)"
    ]
    address = ("--ip", "127.0.0.9", "connection_creation_rate=5", "--dry-run")
    assert done(guarded, "quotas", "set", *address) == [
        "ip 127.0.0.9: connection_creation_rate would be 5 (was not set)"
    ]
    listed = rows(guarded, "quotas", "list", "--user", "va-u")
    assert [(one["client_id"], one["key"], one["value"]) for one in listed] == [
        (None, "producer_byte_rate", 10485760),
        (None, "request_percentage", 0.5),
        ("<default>", "consumer_byte_rate", 1000000),
    ]
    assert len(rows(guarded, "quotas", "list", "--user", "va-u", "--strict")) == 2
    assert done(guarded, "quotas", "remove", *both, "consumer_byte_rate") == [
        "user va-u client-id <default>: consumer_byte_rate is removed (was 1000000)"
    ]
    assert len(done(guarded, "quotas", "remove", "--user", "va-u")) == 2
    assert refused(guarded, "quotas", "remove", "--user", "va-u") == (1, "user va-u: it has no quotas")
    assert refused(guarded, "quotas", "set", "--user", "va-u", "foo=1") == (
        1,
        "user va-u: Invalid configuration key foo",
    )
    for words in (("producer_byte_rate=1",), ("--user", "a", "x=many"), ("--user", "a", "--ip", "b", "x=1")):
        status, error = refused(guarded, "quotas", "set", *words)
        assert (status, error.count("\n")) == (2, 0), error


def test_tokens_are_made_renewed_and_ended(guarded: Guarded) -> None:
    login = guarded.login("bob")

    def run(*words: str) -> Any:
        result = ours("tokens", words[0], *login, *words[1:])
        assert (result.exit, result.err) == (0, "")
        return result.out

    (made,) = json.loads(run("create", "--renewer", "alice", "--max-life", "1d", "--json"))
    assert (made["owner"], made["requester"], made["renewers"]) == ("User:bob", "User:bob", ["User:alice"])

    def listed() -> list[dict[str, Any]]:
        found = json.loads(run("list", "--owner", "bob", "--json"))
        return [one for one in found if one["token_id"] == made["token_id"]]

    wait_until(listed, LIMIT_S, "the token is known")
    assert listed() == [{key: value for key, value in made.items() if key != "hmac"}]
    assert made["hmac"] in run("list", "--show-hmac")
    assert run("renew", made["token_id"], "--for", "12h").startswith(f"{made['token_id']}: expires 20")
    assert run("expire", made["hmac"], "--in", "15m").startswith(f"{made['hmac']}: expires 20")
    assert run("expire", made["token_id"]).startswith(made["token_id"])
    wait_until(lambda: not listed(), LIMIT_S, "the token is gone")
    result = ours("tokens", "expire", *login, made["token_id"])
    assert (result.exit, result.err.count("\n")) == (1, 1)
    assert ours("tokens", "create", *login, "--max-life", "long").exit == 2
    status, error = refused(guarded, "tokens", "list")
    assert (status, error[:40]) == (1, "kafkastore tokens list: Delegation Token")
