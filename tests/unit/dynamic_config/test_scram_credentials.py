"""Users of SCRAM in the store: Kafka's layout, changes that come together, nodes that are malformed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from stepped import Engine, Noting

from kafkastore.dynamic_config.scram_credentials import (
    USERS,
    Credential,
    CredentialChanges,
    CredentialNotFoundError,
    ScramCredentials,
)
from kafkastore.metadata.nodes import CONFIG_CHANGES
from kafkastore.metadata.sqlite import SqliteStore

ONE = Credential(b"salt", b"stored", b"server", 4096)
TWO = Credential(b"other salt", b"other stored", b"other server", 8192)
AS_KAFKA_WRITES_ONE = "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=4096"
SHA_256, SHA_512 = 1, 2
SET_ONE = CredentialChanges({SHA_256: ONE}, frozenset())


def users(security: Noting) -> list[tuple[Any, ...]]:
    """(mechanism, user, credential) in effect."""
    return security.in_effect("publish_scram_credentials", 2)


def check(folder: Path, test: Callable[[SqliteStore, ScramCredentials, Noting], Awaitable[None]]) -> None:
    async def run() -> None:
        store = SqliteStore(str(folder / "metadata.sqlite"))
        await store.connect()
        await store.ensure_path(CONFIG_CHANGES)
        security: Any = Engine(1, "", [], {}).security()
        await test(store, ScramCredentials(store, security), security)
        await store.close()

    asyncio.run(run())


async def config_of(store: SqliteStore, name: str) -> dict[str, str]:
    found: dict[str, str] = json.loads((await store.get(f"{USERS}/{name}")).data)["config"]
    return found


def test_a_user_is_stored_as_kafka_stores_it_and_published(tmp_path: Path) -> None:
    async def test(store: SqliteStore, credentials: ScramCredentials, security: Noting) -> None:
        await credentials.alter({"al ice/~*": CredentialChanges({SHA_256: ONE}, frozenset())})
        assert await config_of(store, "al%20ice%2F%7E%2A") == {"SCRAM-SHA-256": AS_KAFKA_WRITES_ONE}
        assert users(security) == [(SHA_256, "al ice/~*", ONE)]
        (notice,) = await store.get_children(CONFIG_CHANGES)
        content = json.loads((await store.get(f"{CONFIG_CHANGES}/{notice}")).data)
        assert content == {"version": 2, "entity_path": "users/al%20ice%2F%7E%2A"}

    check(tmp_path, test)


def test_quotas_and_other_mechanisms_of_the_user_stay(tmp_path: Path) -> None:
    async def test(store: SqliteStore, credentials: ScramCredentials, security: Noting) -> None:
        await store.ensure_path(f"{USERS}/alice")
        await store.set(f"{USERS}/alice", b'{"version":1,"config":{"producer_byte_rate":"1024"}}')
        await credentials.alter({"alice": CredentialChanges({SHA_256: ONE, SHA_512: TWO}, frozenset())})
        await credentials.alter({"alice": CredentialChanges({}, {SHA_256})})
        assert (await config_of(store, "alice")).keys() == {"producer_byte_rate", "SCRAM-SHA-512"}
        assert users(security) == [(SHA_512, "alice", TWO)]
        await credentials.alter({"alice": CredentialChanges({}, {SHA_512})})
        assert users(security) == []

    check(tmp_path, test)


def test_deleting_what_is_not_there_changes_nothing(tmp_path: Path) -> None:
    async def test(store: SqliteStore, credentials: ScramCredentials, security: Noting) -> None:
        await credentials.alter({"alice": SET_ONE})
        refused = await credentials.alter(
            {
                "alice": CredentialChanges({SHA_256: TWO}, {SHA_512}),
                "nobody": CredentialChanges({}, {SHA_256}),
                "bob": SET_ONE,
            }
        )
        assert {user: type(error) for user, error in refused.items()} == {
            "alice": CredentialNotFoundError,
            "nobody": CredentialNotFoundError,
        }
        assert users(security) == [(SHA_256, "alice", ONE), (SHA_256, "bob", ONE)]
        assert await config_of(store, "alice") == {"SCRAM-SHA-256": AS_KAFKA_WRITES_ONE}

    check(tmp_path, test)


def test_changes_that_come_together_are_all_kept(tmp_path: Path) -> None:
    async def test(store: SqliteStore, credentials: ScramCredentials, security: Noting) -> None:
        other = ScramCredentials(store, security)  # type: ignore[arg-type]
        await asyncio.gather(
            *(
                one.alter({"alice": CredentialChanges({number: ONE}, frozenset())})
                for one in (credentials, other)
                for number in (SHA_256, SHA_512)
            ),
            *(credentials.alter({f"user-{number}": SET_ONE}) for number in range(20)),
        )
        assert (await config_of(store, "alice")).keys() == {"SCRAM-SHA-256", "SCRAM-SHA-512"}
        await credentials.reload_all()
        assert len(users(security)) == 22

    check(tmp_path, test)


def test_malformed_nodes_let_nobody_in_and_are_not_written_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def of_alice(iterations: int) -> bytes:
        credential = AS_KAFKA_WRITES_ONE.rpartition("=")[0] + f"={iterations}"
        return json.dumps({"version": 1, "config": {"SCRAM-SHA-256": credential}}).encode()

    contents = {
        "no-json": b"secret",
        "no-base64": b'{"version":1,"config":{"SCRAM-SHA-256":"salt=secret!,stored_key=,server_key=,iterations=4096"}}',
        "no-number": json.dumps({"version": 1, "config": {"SCRAM-SHA-256": AS_KAFKA_WRITES_ONE + "x"}}).encode(),
        "no-key": b'{"version":1,"config":{"SCRAM-SHA-256":"salt=c2FsdA=="}}',
        "few-iterations": of_alice(4095),
        "negative-iterations": of_alice(-1),
        "endless-iterations": of_alice(2**40),
        "no-pairs": b'{"version":1,"config":{"SCRAM-SHA-256":"secret"}}',
    }

    async def test(store: SqliteStore, credentials: ScramCredentials, security: Noting) -> None:
        for name, content in contents.items():
            await store.ensure_path(f"{USERS}/{name}")
            await store.set(f"{USERS}/{name}", content)
        await credentials.alter({"alice": SET_ONE})
        await credentials.reload_all()
        assert users(security) == [(SHA_256, "alice", ONE)]
        refused = await credentials.alter({"no-json": SET_ONE})
        assert "/config/users/no-json in the metadata store is malformed" in str(refused["no-json"])
        assert (await store.get(f"{USERS}/no-json")).data == b"secret"
        assert len(caplog.messages) == len(contents)
        assert not any("secret" in message or "c2FsdA" in message for message in caplog.messages)

    check(tmp_path, test)


def test_users_are_never_missing_while_all_are_read_and_what_changed_meanwhile_stays(tmp_path: Path) -> None:
    async def test(store: SqliteStore, credentials: ScramCredentials, security: Noting) -> None:
        await credentials.alter({f"u{at}": SET_ONE for at in range(3000)})
        reading = asyncio.ensure_future(credentials.reload_all())
        while not reading.done():
            await asyncio.sleep(0)
            assert len(credentials.known) >= 2999
            if credentials.known.get("u7") and not reading.done():
                await credentials.alter({"u7": CredentialChanges({}, {SHA_256}), "new": SET_ONE})
        await reading
        assert "u7" not in credentials.known
        assert len(credentials.known) == 3000
        assert len(users(security)) == 3000

    check(tmp_path, test)


def test_user_with_the_name_of_the_default_is_a_user(tmp_path: Path) -> None:
    async def test(store: SqliteStore, credentials: ScramCredentials, security: Noting) -> None:
        await credentials.alter({"<default>": SET_ONE})
        await store.ensure_path(f"{USERS}/<default>")
        credentials.take({"<default>": b"", "%3Cdefault%3E/clients/a": b""})
        assert users(security) == [(SHA_256, "<default>", ONE)]
        await credentials.reload_all()
        assert users(security) == [(SHA_256, "<default>", ONE)]

    check(tmp_path, test)


def test_many_who_change_one_user_are_all_served(tmp_path: Path) -> None:
    async def test(_: SqliteStore, credentials: ScramCredentials, security: Noting) -> None:
        told = await asyncio.gather(*(credentials.alter({"alice": SET_ONE, f"u{at}": SET_ONE}) for at in range(60)))
        assert told == [{}] * 60
        assert len(users(security)) == 61

    check(tmp_path, test)
