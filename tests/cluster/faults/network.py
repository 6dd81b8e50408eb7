"""A network of one bridge with a namespace for each host, in which packets from one host to another can be lost.

A cut goes one way: the frames that one host sends to another get an address that no host has (a wrong entry in the
sender's neighbour table), so they vanish without an error, as on a broken line. Cutting both ways takes two cuts. When
the cut is healed, TCP sends the lost packets again. The clients are on the bridge itself.
"""

from __future__ import annotations

import subprocess
import sys

from cluster.faults.private_machine import run

BRIDGE = "hosts"
CLIENTS = "10.77.0.1"
NOBODY = "02:00:00:00:00:01"
PROBE_PORT = 9


class Network:
    """See the module."""

    def __init__(self) -> None:
        self.addresses: dict[str, str] = {}
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        run("ip", "address", "add", f"{CLIENTS}/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")

    def add(self, name: str) -> str:
        """Adds a host to the network; returns its address."""
        address = f"10.77.0.{len(self.addresses) + 11}"
        run("ip", "netns", "add", name)
        run("ip", "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "link", "set", f"to-{name}", "master", BRIDGE, "up")
        self.addresses[name] = address
        return address

    def discard(self) -> None:
        """Removes the network and all hosts. No process may run on a host any more."""
        for name in self.addresses:
            run("ip", "netns", "delete", name)
        run("ip", "link", "delete", BRIDGE)
        self.addresses.clear()

    def prefix(self, name: str) -> list[str]:
        """The prefix that makes a command run on that host."""
        return ["nsenter", f"--net=/run/netns/{name}"]

    def cut(self, source: str, target: str) -> None:
        """Packets from the source to the target are lost from now on."""
        neighbour = (self.addresses[target], "lladdr", NOBODY, "nud", "permanent", "dev", "eth0")
        run("ip", "-n", source, "neigh", "replace", *neighbour)

    def cut_both(self, one: str, other: str) -> None:
        self.cut(one, other)
        self.cut(other, one)

    def heal(self) -> None:
        """Ends all cuts."""
        for name in self.addresses:
            run("ip", "-n", name, "neigh", "flush", "dev", "eth0", "nud", "permanent")

    def prove(self, source: str, target: str) -> None:
        """Checks that a cut loses packets in its direction, and only in that direction, until it is healed."""
        assert self._arrives(source, target)
        self.cut(source, target)
        assert not self._arrives(source, target), "a cut lets packets through"
        assert self._arrives(target, source), "a cut is not one way"
        self.heal()
        assert self._arrives(source, target), "a healed cut still loses packets"

    def _arrives(self, source: str, target: str) -> bool:
        """Whether a datagram from the source arrives at the target."""
        place = f"'{self.addresses[target]}', {PROBE_PORT}"
        opened = "import socket; probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
        receiver = f"{opened}; probe.settimeout(1); probe.bind(({place})); print(flush=True); probe.recv(9)"
        sender = f"{opened}; probe.sendto(b'x', ({place}))"
        python = [sys.executable, "-S", "-c"]
        waiting = subprocess.Popen(
            [*self.prefix(target), *python, receiver], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert waiting.stdout is not None
        with waiting.stdout:
            waiting.stdout.readline()
        subprocess.run([*self.prefix(source), *python, sender], check=True)
        return waiting.wait(10) == 0
