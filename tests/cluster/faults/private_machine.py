"""A part of this machine that ends with its first process: own processes, mounts and network (namespaces of Linux).

All its mounts, sockets and processes end with it, also when it is killed: the kernel then ends the processes, the
mounts of loop images with their devices, the bridge and the namespaces. Nothing of it is visible outside.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

INSIDE = "KAFKASTORE_PRIVATE_MACHINE"

COMMAND = (
    "setpriv", "--pdeathsig", "KILL",  # also when the process that started this one is killed
    "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child=KILL", "--mount-proc",
)  # fmt: skip

NEEDED = {
    "setpriv": "util-linux", "unshare": "util-linux", "nsenter": "util-linux", "mount": "mount", "losetup": "mount",
    "mkfs.ext4": "e2fsprogs", "ip": "iproute2",
}  # fmt: skip


class MachineError(Exception):
    """One sentence that says what this machine lacks."""


def check() -> None:
    """Raises MachineError when this machine cannot inject faults."""
    if os.geteuid() != 0:
        raise MachineError("faults need root: they mount disks and make network namespaces")
    missing = sorted({package for name, package in NEEDED.items() if shutil.which(name) is None})
    if missing:
        raise MachineError(f"faults need commands of the package {', '.join(missing)}")
    tried = subprocess.run([*COMMAND, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise MachineError(f"faults need namespaces, which this machine refuses: {tried.stderr.strip()}")


def is_inside() -> bool:
    """Whether this process is the first of a private machine."""
    return os.environ.get(INSIDE) == str(os.getpid())


def enter(module: str, arguments: list[str]) -> None:
    """Replaces this process by the same module inside a private machine; returns if this process is inside already."""
    if is_inside():
        prepare()
        return
    check()
    environment = os.environ | {INSIDE: "1"}  # the first process of a new process namespace has the id 1
    os.execvpe(COMMAND[0], [*COMMAND, sys.executable, "-m", module, *arguments], environment)


def prepare() -> None:
    """Prepares the private machine once, from inside: the loopback, and a folder for names of network namespaces."""
    run("ip", "link", "set", "lo", "up")
    run("mount", "-t", "tmpfs", "none", "/run")
    os.mkdir("/run/netns")


def run(*command: str) -> str:
    """Runs a command that must succeed; returns its stdout."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MachineError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return done.stdout
