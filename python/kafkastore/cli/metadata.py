"""``kafkastore metadata``: backs up and restores a metadata store in an SQLite file, checks it, accepts the loss of a
store, shows the configurations that it has and removes wrong ones."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kafkastore.cli.verbs import Verb, run_verb

if TYPE_CHECKING:
    from kafkastore.config import BrokerConfig

USAGE = """\
usage: kafkastore metadata backup FILE [server.properties] [--override key=value ...]
       kafkastore metadata restore FILE [server.properties] [--override key=value ...]
       kafkastore metadata check [server.properties] [--override key=value ...]
       kafkastore metadata accept-loss [server.properties] [--override key=value ...]
       kafkastore metadata config [server.properties] [--override key=value ...]
       kafkastore metadata remove-config KIND/NAME:KEY [server.properties] [--override key=value ...]

For the broker of this server.properties; without one, for the broker that needs none.

backup        writes the metadata store to a new FILE, as of one moment; brokers may run
restore       puts the backup FILE in the place of the metadata store; no broker may run. What is replaced is kept
              beside it. Topics made after the backup keep their records: a broker that is alone serves them again, a
              cluster sets them aside as -stray
check         says whether the store is as it was written, and the one that the log directories were used with;
              brokers may run
accept-loss   lets the next start go on without what the metadata store has lost; no broker may run. In a cluster it is
              said to each broker. Records stay: topics that the store does not know any more are served by a broker
              that is alone, with nothing deleted until somebody configures them, and set aside as -stray by a cluster

config        the configurations that were changed at run time, a line for each, also while no broker runs; those that
              are wrong, and so without effect, say why
remove-config removes one of them, as in brokers/1:log.roll.ms or topics/t:retention.ms; brokers that run hear of it.
              KIND is brokers, topics, users, clients, ips, groups or client-metrics; NAME and KEY are as config shows
              them, and brokers/default is the default of all brokers

backup and restore are for the store in an SQLite file; ZooKeeper has its own.

options:
  --override key=value   set or replace a key; may be given again
  -h, --help             show this text

exit status: 0 done, 1 refused, failed, found damaged or a wrong configuration, with a sentence on stderr, 2 wrong usage
"""


def main(arguments: list[str]) -> int:
    """Runs a command; returns the exit status, see USAGE."""
    return run_verb(_VERBS, arguments)


def _path_of(config: BrokerConfig) -> str:
    from kafkastore.metadata.backup import BackupError

    servers = config.get("zookeeper.connect")
    if servers is not None:
        raise BackupError(f"zookeeper.connect={servers}: the metadata is in ZooKeeper; back up and restore that")
    return config.metadata_path


def _backup(config: BrokerConfig, file: str) -> int:
    from kafkastore.metadata.backup import back_up

    path = _path_of(config)
    mark = back_up(path, file)
    sys.stdout.write(f"{file} is a backup of {path} as of change {mark.generation}\n")
    return 0


def _restore(config: BrokerConfig, file: str) -> int:
    from kafkastore.metadata.backup import restore

    path = _path_of(config)
    mark = restore(file, path, config.log_dirs)
    sys.stdout.write(f"{path} is as of change {mark.generation} again\n")
    return 0


def _accept_loss(config: BrokerConfig, _: str) -> int:
    from kafkastore.metadata.backup import accept_loss

    is_file = config.get("zookeeper.connect") is None
    for line in accept_loss(config.metadata_path if is_file else None, config.log_dirs):
        sys.stdout.write(line + "\n")
    sys.stdout.write("The next start goes on with the metadata store as it is\n")
    return 0


def _check(config: BrokerConfig, _: str) -> int:
    """Prints the faults that a start would refuse, and those that it would only log."""
    import sqlite3

    from kafkastore.errors import StartupError
    from kafkastore.metadata.marks import DIRECTORY_FILE, read_mark
    from kafkastore.metadata.sqlite_check import check_mark, find_damage, mark_of, refuse_damaged

    path = _path_of(config)
    faults = []
    try:
        refuse_damaged(path, config.metadata_setting)
        mark = mark_of(path) if os.path.exists(path) else None
        faults += [
            f"{path}: {damage}" for damage in (find_damage(path) if os.path.exists(path) else ["it is not there"])
        ]
        for directory in config.log_dirs:
            seen = os.path.join(directory, DIRECTORY_FILE)
            found = read_mark(seen)
            if found.is_damaged:
                faults.append(f"{seen} is damaged")
            if mark is not None and found.mark is not None:
                check_mark(mark, found.mark, path, seen)
    except StartupError as error:
        faults.append(str(error))
    except sqlite3.Error as error:
        faults.append(f"{path}: {error}")
    for fault in faults:
        sys.stderr.write(f"kafkastore: {fault}\n")
    if not faults and mark is not None:
        sys.stdout.write(f"{path} is as it was written: store {mark.store}, change {mark.generation}\n")
    return 1 if faults else 0


def _config(config: BrokerConfig, operand: str) -> int:
    from kafkastore.cli import metadata_config

    return metadata_config.show(config, operand)


def _remove_config(config: BrokerConfig, operand: str) -> int:
    from kafkastore.cli import metadata_config

    return metadata_config.remove(config, operand)


_VERBS = {
    "backup": Verb(_backup, "FILE"),
    "restore": Verb(_restore, "FILE"),
    "check": Verb(_check),
    "accept-loss": Verb(_accept_loss),
    "config": Verb(_config),
    "remove-config": Verb(_remove_config, "KIND/NAME:KEY"),
}
