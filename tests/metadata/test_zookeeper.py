"""The store's contract on a real ZooKeeper, and what only an ensemble has: chroots, lost connections, ACLs, TLS (H21,
H28)."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from kazoo.security import CREATOR_ALL_ACL

from kafkastore.config import BrokerConfig
from kafkastore.errors import ErrorCode
from kafkastore.metadata.batches import write_many
from kafkastore.metadata.store import (
    CHILDREN_CHANGED,
    CONNECTED,
    CREATED,
    DATA_CHANGED,
    DELETED,
    EXPIRED,
    MULTI_LIMIT_BYTES,
    SUSPENDED,
    Create,
    MultiTooLargeError,
    SessionExpiredError,
    SetData,
    StoreAccessDeniedError,
    StoreUnavailableError,
    WatchEvent,
)
from kafkastore.metadata.zookeeper import ZookeeperStore
from kafkastore.metadata.zookeeper_settings import read_settings
from peer.broker_process import wait_until
from peer.zookeeper import ZookeeperProcess
from unit.metadata.store_contract import LIMIT_S, StoreContract, connected, eventually

DIGEST = "broker:secret"


class TestZookeeperStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, zookeeper: ZookeeperProcess) -> None:
        self.server = zookeeper

    def address(self, folder: Path) -> tuple[str, str]:
        return "zookeeper", f"{self.server.address}/tests/{folder.name}"


def open_store(server: ZookeeperProcess, **properties: str) -> ZookeeperStore:
    """By configuration keys, with ``__`` for the dots."""
    given = {"zookeeper.connect": server.address, "zookeeper.session.timeout.ms": "1500"}
    given |= {name.replace("__", "."): value for name, value in properties.items()}
    return ZookeeperStore(read_settings(BrokerConfig(given).get))


@asynccontextmanager
async def opened(server: ZookeeperProcess, **properties: str) -> AsyncIterator[tuple[ZookeeperStore, list[str]]]:
    """A connected store and its states."""
    store = open_store(server, **properties)
    states: list[str] = []
    store.listen(states.append)
    async with connected(store):
        yield store, states


async def off_the_loop(call: Callable[[], None]) -> None:
    await asyncio.get_running_loop().run_in_executor(None, call)


def drop(store: ZookeeperStore) -> None:
    """The connection breaks."""
    assert store._client is not None
    store._client._kazoo._connection._socket.shutdown(socket.SHUT_RDWR)


def under_way(store: ZookeeperStore) -> int:
    """How many requests are on the wire and not answered."""
    assert store._client is not None
    return len(store._client._kazoo._pending)


def cut_off(store: ZookeeperStore) -> Callable[[], None]:
    """No new connection is made until what is returned is called."""
    assert store._client is not None
    handler = store._client._kazoo.handler

    def refuse(*_: object, **__: object) -> None:
        raise ConnectionRefusedError

    handler.create_connection = refuse
    return lambda: delattr(handler, "create_connection")


# ---- lost connections
async def test_killed_and_restarted_suspends_then_connects_with_ephemerals_kept(
    own_zookeeper: ZookeeperProcess,
) -> None:
    async with opened(own_zookeeper, zookeeper__session__timeout__ms="4000") as (store, states):
        session = store.session_id
        await store.create("/mine", b"1", is_ephemeral=True)
        await off_the_loop(own_zookeeper.kill)
        await eventually(lambda: states == [CONNECTED, SUSPENDED])
        await off_the_loop(own_zookeeper.start)
        await eventually(lambda: states == [CONNECTED, SUSPENDED, CONNECTED])
        assert store.session_id == session
        assert (await store.get("/mine")).ephemeral_owner == session


async def test_call_while_away_fails_within_its_limit_and_one_within_it_is_served(
    own_zookeeper: ZookeeperProcess,
) -> None:
    async with opened(
        own_zookeeper,
        zookeeper__session__timeout__ms="4000",
        zookeeper__connection__timeout__ms="3000",
        zookeeper__max__in__flight__requests="1",
    ) as (store, states):
        await store.create("/a", b"1")
        await off_the_loop(own_zookeeper.kill)
        await eventually(lambda: states[-1] == SUSPENDED)
        with pytest.raises(StoreUnavailableError, match=f"zookeeper.connect={own_zookeeper.address} ") as raised:
            await asyncio.wait_for(store.get("/a"), 4)
        assert raised.value.code == ErrorCode.REQUEST_TIMED_OUT
        reading = asyncio.create_task(store.get("/a"))
        writing = asyncio.create_task(store.set("/a", b"2"))
        await off_the_loop(own_zookeeper.start)
        assert (await reading).version == 0
        assert await writing == 1


async def test_write_that_is_cut_off_is_of_unknown_outcome_and_a_read_is_sent_again(
    own_zookeeper: ZookeeperProcess,
) -> None:
    async with opened(own_zookeeper, zookeeper__session__timeout__ms="4000") as (store, states):
        await store.create("/a", b"1")
        own_zookeeper.suspend()
        writing = asyncio.create_task(store.set("/a", b"2"))
        reading = asyncio.create_task(store.get("/a"))
        await eventually(lambda: under_way(store) == 2)
        await off_the_loop(own_zookeeper.kill)
        await off_the_loop(own_zookeeper.start)
        with pytest.raises(StoreUnavailableError, match="may have been done"):
            await writing
        assert (await reading).version in (0, 1)
        assert states == [CONNECTED, SUSPENDED, CONNECTED]


async def test_server_that_hangs_is_noticed_within_the_session_timeout(own_zookeeper: ZookeeperProcess) -> None:
    async with opened(own_zookeeper) as (_, states):
        own_zookeeper.suspend()
        assert await eventually(lambda: states == [CONNECTED, SUSPENDED]) < 2
        own_zookeeper.resume()
        await eventually(lambda: states[-1] != SUSPENDED)


async def test_tree_that_takes_longer_to_read_than_one_answer_may_is_read(own_zookeeper: ZookeeperProcess) -> None:
    async with opened(own_zookeeper, zookeeper__session__timeout__ms="20000") as (store, _):
        await write_many(store, [Create("/many"), *(Create(f"/many/{number}") for number in range(4000))])
        begun = time.monotonic()
        whole = await store.get_tree("/many")
        store._limit_s = (time.monotonic() - begun) / 3
        assert await store.get_tree("/many") == whole


async def test_watches_outlive_a_restart_and_fire_before_connected_for_what_happened_meanwhile(
    own_zookeeper: ZookeeperProcess,
) -> None:
    async with opened(own_zookeeper, zookeeper__session__timeout__ms="4000") as (store, _):
        heard: list[Any] = []
        store.listen(heard.append)

        async def heard_before_reading() -> list[Any]:
            assert (await store.get("/changed")).version == 1
            return list(heard)

        await store.multi(
            [Create("/changed"), Create("/parent"), Create("/gone"), Create("/same"), Create("/same/child")]
        )
        await store.get("/changed", heard.append)
        await store.get_children("/parent", heard.append)
        await store.get("/gone", heard.append)
        await store.exists("/new", heard.append)
        later: list[WatchEvent] = []
        await store.get("/same", later.append)
        await store.get_children("/same", later.append)
        await store.exists("/not-yet", later.append)
        await off_the_loop(own_zookeeper.kill)
        await eventually(lambda: heard == [SUSPENDED])
        reading = asyncio.create_task(heard_before_reading())
        await change_meanwhile(own_zookeeper, store)
        await eventually(lambda: heard[-1] == CONNECTED)
        assert heard[0] == SUSPENDED
        assert set(heard[1:-1]) == {
            WatchEvent(DATA_CHANGED, "/changed"),
            WatchEvent(CHILDREN_CHANGED, "/parent"),
            WatchEvent(DELETED, "/gone"),
            WatchEvent(CREATED, "/new"),
        }
        assert len(heard) == 6
        before = await reading  # asked for before the watches were set anew
        assert WatchEvent(DATA_CHANGED, "/changed") in before
        assert later == []
        await store.multi([SetData("/same", b"1"), Create("/same/child2"), Create("/not-yet")])
        assert set(later) == {
            WatchEvent(DATA_CHANGED, "/same"),
            WatchEvent(CHILDREN_CHANGED, "/same"),
            WatchEvent(CREATED, "/not-yet"),
        }


async def change_meanwhile(server: ZookeeperProcess, away: ZookeeperStore) -> None:
    """Another broker's changes, while ``away`` cannot connect."""
    let_in = cut_off(away)
    await off_the_loop(server.start)
    other = open_store(server)
    await other.connect()
    await other.set("/changed", b"1")
    await other.create("/parent/child")
    await other.delete("/gone")
    await other.create("/new")
    await other.close()
    let_in()


async def outlast(store: ZookeeperStore, server: ZookeeperProcess) -> tuple[ZookeeperStore, Callable[[], None]]:
    """Cuts the store off until its session is over. Another store, which has seen that, and what lets this one in
    again."""
    await store.create("/mine", is_ephemeral=True)
    other = open_store(server)
    await other.connect()
    gone: list[WatchEvent] = []
    await other.exists("/mine", gone.append)
    let_in = cut_off(store)
    drop(store)
    await eventually(lambda: gone == [WatchEvent(DELETED, "/mine")])
    return other, let_in


async def test_session_expired_while_away_is_reported_and_connect_makes_a_new_one(
    own_zookeeper: ZookeeperProcess,
) -> None:
    async with opened(own_zookeeper) as (store, states):
        lost: list[WatchEvent] = []
        await store.exists("/other", lost.append)
        other, let_in = await outlast(store, own_zookeeper)
        assert states == [CONNECTED, SUSPENDED]
        let_in()
        await TestZookeeperStore().check_expired(store, states)
        assert states == [CONNECTED, SUSPENDED, EXPIRED, CONNECTED]
        found: list[WatchEvent] = []
        await store.exists("/other", found.append)
        await other.create("/other")
        await store.poll()
        assert found == [WatchEvent(CREATED, "/other")]
        assert lost == []
        await other.close()


async def test_call_on_an_expired_session_ends_after_listeners_have_been_notified(
    own_zookeeper: ZookeeperProcess,
) -> None:
    """H21: whoever asks until ``expired`` has been told would otherwise ask for ever, and keep the loop from telling
    it."""
    async with opened(own_zookeeper) as (store, states):
        other, let_in = await outlast(store, own_zookeeper)
        client = store._client
        assert client is not None
        let_in()
        wait_until(lambda: client._is_over, 5, "it is over")  # the loop hangs meanwhile
        assert states == [CONNECTED, SUSPENDED]
        for call in (store.get("/"), store.create("/new")):
            with pytest.raises(SessionExpiredError):
                await call
            assert (states[-1], store.session_id) == (EXPIRED, 0)
        await other.close()


async def test_bounced_connections_lose_no_write_that_was_acknowledged(zookeeper: ZookeeperProcess) -> None:
    """H21: a writer that re-reads after "unknown" goes on without a restart."""
    async with opened(zookeeper, zookeeper__connect=f"{zookeeper.address}/bounced") as (store, states):
        await store.create("/n", b"")
        acknowledged = -1
        for number in range(200):
            if number % 40 == 20:
                drop(store)
            node = await store.get("/n")
            assert node.version >= acknowledged
            try:
                acknowledged = await store.set("/n", b"%d" % number, node.version)
            except StoreUnavailableError:
                continue
        assert (await store.get("/n")).version >= 195
        assert EXPIRED not in states
        assert states.count(SUSPENDED) == 5


async def test_unreachable_ensemble_is_unavailable_within_the_connection_timeout() -> None:
    class Nobody(ZookeeperProcess):
        address = "127.0.0.1:1"

    limits = {"zookeeper__connection__timeout__ms": "300", "zookeeper__session__timeout__ms": "60000"}
    store = open_store(Nobody.__new__(Nobody), **limits)
    with pytest.raises(StoreUnavailableError, match=r"zookeeper.connect=127.0.0.1:1 cannot be reached within 0.3 s"):
        await asyncio.wait_for(store.connect(), LIMIT_S)
    await store.close()


# ---- layout, size
async def test_chroot_is_made_and_hides_the_rest(zookeeper: ZookeeperProcess) -> None:
    async with opened(zookeeper, zookeeper__connect=f"{zookeeper.address}/cluster/one") as (store, _):
        assert await store.create("/a-", is_sequential=True) == "/a-0000000000"
        seen: list[WatchEvent] = []
        await store.get_children("/", seen.append)
        await store.create("/b")
        assert seen == [WatchEvent(CHILDREN_CHANGED, "/")]
        assert await store.get_children("/") == ["a-0000000000", "b"]
        whole = open_store(zookeeper)
        await whole.connect()
        assert await whole.exists("/cluster/one/b") == 0
        await whole.close()


async def test_multi_beyond_jute_maxbuffer_is_refused_and_written_in_batches(zookeeper: ZookeeperProcess) -> None:
    async with opened(
        zookeeper, zookeeper__connect=f"{zookeeper.address}/large", zookeeper__connection__timeout__ms="10000"
    ) as (store, states):
        operations = [Create(f"/{number:05}", b"x" * 400) for number in range(MULTI_LIMIT_BYTES // 400)]
        with pytest.raises(MultiTooLargeError, match="write them in batches"):
            await store.multi(operations)
        assert await store.get_children("/") == []
        await write_many(store, operations)
        assert len(await store.get_tree("/")) == len(operations)
        small = [Create(f"/s{number:05}") for number in range(10_000)]  # headers and ACLs, no data
        await write_many(store, small)
        assert states == [CONNECTED]


# ---- who may
async def test_digest_owns_what_it_creates_and_others_may_only_read(zookeeper: ZookeeperProcess) -> None:
    address = f"{zookeeper.address}/secured"
    async with opened(
        zookeeper, zookeeper__connect=address, zookeeper__set__acl="true", kafkastore__zookeeper__digest=DIGEST
    ) as (store, _):
        await store.ensure_path("/config/users")
        await store.multi([Create("/topic", b"1"), Create("/config/users/u", b"secret"), Create("/consumers")])
        stranger = open_store(zookeeper, zookeeper__connect=address)
        await stranger.connect()
        assert (await stranger.get("/topic")).data == b"1"
        for write in (stranger.set("/topic", b"2"), stranger.create("/topic/x"), stranger.create("/y")):
            with pytest.raises(StoreAccessDeniedError):
                await write
        with pytest.raises(StoreAccessDeniedError):
            await stranger.get("/config/users/u")
        await stranger.create("/consumers/old")
        await stranger.close()
        friend = open_store(zookeeper, zookeeper__connect=address, kafkastore__zookeeper__digest=DIGEST)
        await friend.connect()
        assert (await friend.get("/config/users/u")).data == b"secret"
        assert await friend.set("/topic", b"2") == 1
        await friend.close()


async def test_node_that_may_no_longer_be_read_does_not_keep_the_store_away(own_zookeeper: ZookeeperProcess) -> None:
    """H28: somebody changed its ACL while the connection was lost."""
    async with opened(own_zookeeper) as (store, states):
        await store.create("/topic")
        events: list[WatchEvent] = []
        await store.get_children("/topic", events.append)
        assert store._client is not None
        let_in = cut_off(store)
        drop(store)
        await eventually(lambda: states[-1] == SUSPENDED)
        stranger = open_store(own_zookeeper, kafkastore__zookeeper__digest="stranger:secret")
        await stranger.connect()
        client = stranger._client
        assert client is not None
        await off_the_loop(lambda: client._kazoo.set_acls("/topic", CREATOR_ALL_ACL))
        let_in()
        await eventually(lambda: states == [CONNECTED, SUSPENDED, CONNECTED])
        assert [event.path for event in events] == ["/topic"]
        with pytest.raises(StoreAccessDeniedError):
            await store.get_children("/topic")
        await stranger.close()


# ---- TLS
def make_certificates(folder: Path) -> tuple[Path, Path]:
    """(keystore, truststore) in PEM: a key with a certificate that signs itself, for 127.0.0.1."""
    key, certificate, keystore = folder / "key.pem", folder / "certificate.pem", folder / "keystore.pem"
    command = (
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout {key} -out {certificate}"
        " -addext subjectAltName=IP:127.0.0.1,DNS:localhost"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    keystore.write_bytes(key.read_bytes() + certificate.read_bytes())
    return keystore, certificate


async def test_tls_with_a_client_certificate_and_refusals_without(tmp_path: Path) -> None:
    keystore, truststore = make_certificates(tmp_path)
    plain = ZookeeperProcess(tmp_path / "zookeeper")
    server = ZookeeperProcess(
        tmp_path / "zookeeper",
        extra={
            "clientPort": None,
            "clientPortAddress": None,
            "secureClientPort": str(plain.port),
            "secureClientPortAddress": "127.0.0.1",
            "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "ssl.keyStore.location": str(keystore),
            "ssl.keyStore.type": "PEM",
            "ssl.trustStore.location": str(truststore),
            "ssl.trustStore.type": "PEM",
        },
        port=plain.port,
    )
    server.start()
    tls = {
        "zookeeper__ssl__client__enable": "true",
        "zookeeper__ssl__truststore__location": str(truststore),
        "zookeeper__ssl__truststore__type": "PEM",
    }
    client = {"zookeeper__ssl__keystore__location": str(keystore), "zookeeper__ssl__keystore__type": "PEM"}
    try:
        async with opened(server, **tls, **client, zookeeper__connection__timeout__ms="10000") as (store, _):
            await store.create("/a", b"1")
            assert (await store.get("/a")).data == b"1"
            for refused in ({}, tls, {"zookeeper__ssl__client__enable": "true", **client}):  # plain, no key, no trust
                other = open_store(server, **refused, zookeeper__connection__timeout__ms="500")
                with pytest.raises(StoreUnavailableError):
                    await other.connect()
                await other.close()
    finally:
        server.stop()
