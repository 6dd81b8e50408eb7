"""``kafka-acls`` and ``kafka-delegation-tokens`` print what Kafka's print, on the same broker."""

from __future__ import annotations

import re

import pytest

from peer.broker_process import wait_until
from peer.java_tools import JavaTools
from tools.comparison import ours, same
from tools.guarded import Guarded

ERROR = "Error while executing ACL command: "


def sorted_blocks(text: str) -> str:
    """Kafka's order of resources and entries is by hash codes that differ from run to run; behind a refusal it prints a
    stack."""
    shown = re.split(r"\n\tat |\n[a-z.]+\.[A-Z]\w+: ", text)[0].strip()
    blocks = re.split(r"\n\n|(?=^ACLs for)|\n(?=Current)", shown, flags=re.MULTILINE)
    return "\n\n".join(sorted("\n".join(sorted(line.strip() for line in one.strip().splitlines())) for one in blocks))


ADDITIONS = [
    "--allow-principal User:a --operation Read --operation write --topic ka-1 --topic ka-2",
    "--allow-principal User:a --topic * --cluster",
    "--allow-principal User:a --allow-principal User:b --deny-principal User:c --allow-host 1.1.1.1 --allow-host "
    "2.2.2.2 --deny-host 3.3.3.3 --topic ka-pre --resource-pattern-type prefixed",
    "--allow-principal User:a --producer --idempotent --topic ka-p --transactional-id ka-x",
    "--allow-principal User:a --producer --consumer --topic ka-p --group ka-g",
    "--allow-principal User:a --consumer --topic ka-p --group ka-g --resource-pattern-type PREFIXED",
    "--allow-principal User:a --operation CreateTokens --user-principal User:u",
    "--allow-principal User:a --operation Describe --delegation-token ka-d",
]


@pytest.mark.parametrize("line", ADDITIONS)
def test_acls_are_added_and_removed_as_kafkas(guarded: Guarded, java: JavaTools, line: str) -> None:
    words = ["--bootstrap-server", guarded.bootstrap]
    added = ours("kafka-acls", *words, "--add", *line.split())
    listed = same(java, "kafka-acls", *words, "--list", plain=sorted_blocks)
    again = same(java, "kafka-acls", *words, "--add", *line.split(), plain=sorted_blocks)
    assert again.count("already exists.") == listed.count("permissionType=") == added.out.count("permissionType=")
    assert java.tool("kafka-acls", *words, "--remove", "--force", *line.split()).exit == 0
    assert ours("kafka-acls", *words, "--list").out == ""
    assert sorted_blocks(java.tool("kafka-acls", *words, "--add", *line.split()).out) == sorted_blocks(added.out)
    assert ours("kafka-acls", *words, "--remove", "--force", *line.split()).exit == 0
    assert java.tool("kafka-acls", *words, "--list").out == ""


LOOKS = [
    "--list",
    "--list --topic ka-pre",
    "--list --topic ka-prefix --resource-pattern-type match",
    "--list --topic ka-pre --resource-pattern-type any",
    "--list --principal User:a --principal User:z",
    "--list --topic ka-pre --cluster --group ka-g",
    "--list --topic ka-none",
    "--remove --force --topic ka-none",
    "--add --allow-principal a --topic ka-t",
    "--list --resource-pattern-type foo",
    "--list --producer",
    "--list --add",
    "--version",
]
WRONG = [
    "--add --allow-principal User:a --operation Foo --topic ka-t",
    "--add --operation Read --topic ka-t",
    "--add --allow-principal User:a --topic ka-t --resource-pattern-type match",
    "--add --allow-principal User:a",
    "--add --producer --allow-principal User:a",
    "--add --consumer --topic x --allow-principal User:a",
    "--add --idempotent --topic x --allow-principal User:a",
    "--add --topic x --allow-principal User:a --principal User:a",
    "--add --producer --operation Read --topic a --allow-principal User:a",
    "--add --operation CreateTokens --allow-principal User:a --topic t1",
    "--help",
]
"""Kafka's tool ends within a catch of everything; in the JVM of the tests, where it cannot end, it says that, too."""


def test_acls_are_listed_and_refused_as_kafkas(guarded: Guarded, java: JavaTools) -> None:
    words = ["--bootstrap-server", guarded.bootstrap]
    for line in (
        "--topic ka-pre --resource-pattern-type prefixed --allow-principal User:a --operation Read",
        "--topic ka-pre --allow-principal User:b --operation Write",
        "--topic * --allow-principal User:c --operation Alter",
        "--cluster --group ka-g --allow-principal User:a",
    ):
        assert ours("kafka-acls", *words, "--add", *line.split()).exit == 0
    for line in LOOKS:
        same(java, "kafka-acls", *words, *line.split(), plain=sorted_blocks)
    for line in WRONG:
        theirs, mine = java.tool("kafka-acls", *words, *line.split()), ours("kafka-acls", *words, *line.split())
        assert (mine.exit, mine.out) == (theirs.exit, ""), line
    everything = ("--topic", "ka-pre", "--resource-pattern-type", "match")
    kept = ours("kafka-acls", *words, "--remove", *everything, stdin="n\n")
    assert (kept.exit, kept.out.splitlines()[-1][:50]) == (0, "Are you sure you want to delete all ACLs for resou")
    assert ours("kafka-acls", *words, "--remove", *everything).out.endswith(
        f"{ERROR}nobody answers; give --force to ask nothing\n"
    )
    assert ours("kafka-acls", *words, "--remove", *everything, stdin="y\n").exit == 0
    assert "TOPIC" not in same(java, "kafka-acls", *words, "--list", plain=sorted_blocks)
    assert ours("kafka-acls", *words, "--remove", "--force", "--cluster", "--group", "ka-g").exit == 0


# ---- tokens
def without_ids(text: str) -> str:
    """Ids, secrets and minutes are others in every run."""
    return re.sub(r"[\w+/-]{20,}={0,2} *|20\d\d-\d\d-\d\dT..:..", "X", text)


TOKENS = [
    "--create --max-life-time-period -1",
    "--create --max-life-time-period 100000 --renewer-principal User:bob --renewer-principal User:eve",
    "--create --max-life-time-period 100000 --owner-principal User:bob",
    "--describe --owner-principal User:nobody",
    "--expire --hmac AAAA --expiry-time-period -1",
    "--create",
    "--create --max-life-time-period 100 --hmac x",
    "--describe --owner-principal x",
    "--renew --hmac %% --renew-time-period -1",
    "--help",
    "--version",
]
TOKENS_MADE = 4
"""By those lines, twice each."""


def test_tokens_are_made_renewed_and_ended_as_kafkas(guarded: Guarded, java: JavaTools) -> None:
    words, tool = guarded.login("alice"), "kafka-delegation-tokens"
    for line in TOKENS:
        same(java, tool, *words, *line.split(), plain=without_ids)
    assert "tokens : 0" in same(java, tool, *words, "--describe")  # Kafka's tool asks for the tokens of nobody
    mine = [*words, "--describe", "--owner-principal", "User:alice"]
    wait_until(lambda: ours(tool, *mine).out.count("\n\n") >= TOKENS_MADE, 10, "all tokens are known")
    same(java, tool, *mine, plain=lambda text: "\n".join(sorted(without_ids(text).split("\n"))))
    secrets = re.findall(r"\S{60,}", ours(tool, *mine).out)
    for line in (
        "--renew --renew-time-period -1",
        "--renew --renew-time-period 90000",
        "--expire --expiry-time-period 90000",
    ):
        same(java, tool, *words, *line.split(), "--hmac", secrets[0], plain=without_ids)
    for secret in secrets[1:]:
        assert ours(tool, *words, "--expire", "--hmac", secret, "--expiry-time-period", "-1").exit == 0
    unproven = ["--bootstrap-server", guarded.bootstrap, "--command-config", "/dev/null"]
    assert same(java, tool, *unproven, "--describe").endswith("for current user.\n")
