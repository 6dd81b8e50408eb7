"""A second process with a store, for tests: run as a script it runs commands from stdin, one for each line, and prints
their results and its session's state; imported it starts that script.

Commands: ``create PATH`` (ephemeral), ``set PATH``, ``connect``, ``close``, ``hang`` (until SIGUSR1). Lines: ``state
STATE``, ``done``, ``failed ERROR``, ``hangs``.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.store import MetadataStore, StoreError

LINE_LIMIT_S = 15.0


class StoreClient:
    """The other process. ``expect`` reads its lines until a wanted line comes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def tell(self, command: str, *answers: str) -> None:
        """Sends a command, and reads lines until one of ``answers``, by default "done"."""
        assert self.process.stdin is not None
        self.process.stdin.write(command.encode() + b"\n")
        await self.expect(*(answers or ("done",)))

    async def expect(self, *wanted: str) -> None:
        assert self.process.stdout is not None
        seen = []
        async with asyncio.timeout(LINE_LIMIT_S):
            while True:
                line = (await self.process.stdout.readline()).decode().strip()
                seen.append(line)
                assert line, f"the other process ended; it had said {seen}"
                assert line != "done" or line in wanted, f"it was done: {seen}"
                if line in wanted:
                    return

    async def stop(self) -> None:
        """SIGSTOP; returns when all its threads have stopped."""
        from peer.broker_process import hang  # the script runs without the tests' folders

        await asyncio.to_thread(hang, self.process.pid)

    def send_signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


@asynccontextmanager
async def store_client(arguments: Sequence[str], prefix: Sequence[str] = ()) -> AsyncIterator[StoreClient]:
    """A store client that is started, by the command ``prefix`` if given, and connected; it is killed at the end."""
    process = await asyncio.create_subprocess_exec(
        *prefix, sys.executable, __file__, *arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    client = StoreClient(process)
    try:
        await client.expect("state connected")
        yield client
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def open_store(kind: str, address: str, session_timeout_ms: int) -> MetadataStore:
    if kind == "sqlite":
        return SqliteStore(address, session_timeout_ms=session_timeout_ms)
    from kafkastore.metadata.zookeeper import ZookeeperStore
    from kafkastore.metadata.zookeeper_settings import ZookeeperSettings, parse_connect

    hosts, chroot = parse_connect(address)
    return ZookeeperStore(
        ZookeeperSettings(hosts, chroot, session_timeout_ms, 5000, 10, is_acl_set=False, digest=None, tls=None)
    )


async def obey(store: MetadataStore) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    store.listen(lambda state: print("state", state, flush=True))
    await store.connect()
    while True:
        line = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        if not line:
            return
        command, _, path = line.strip().partition(" ")
        try:
            if command == "create":
                await store.create(path, is_ephemeral=True)
            elif command == "set":
                await store.set(path, b"other")
            elif command == "hang":  # the loop, not the other threads
                print("hangs", flush=True)
                signal.sigwait([signal.SIGUSR1])
            elif command == "close":
                await store.close()
            else:
                await store.connect()
        except StoreError as error:
            print("failed", type(error).__name__, flush=True)
        else:
            print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(obey(open_store(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
