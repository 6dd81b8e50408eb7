"""``kafkastore metadata``: backs up and restores a metadata store in an SQLite file, checks it, accepts the loss of a
store, shows the configurations that it has and removes wrong ones."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from kafkastore.cli.nouns import Noun
from kafkastore.cli.properties_options import broker_config

if TYPE_CHECKING:
    from kafkastore.config import BrokerConfig


@click.group("metadata", cls=Noun)
def command() -> None:
    """Keep a copy of the metadata, put it back, look whether it is whole.

    For the broker of this server.properties; without one, for the broker that needs none. backup and restore are for
    the store in an SQLite file; ZooKeeper has its own.

    Exit status: 0 done, 1 refused, failed, found damaged or a wrong configuration, with a sentence on stderr, 2 wrong
    usage.
    """


def _path_of(config: BrokerConfig) -> str:
    from kafkastore.metadata.backup import BackupError

    servers = config.get("zookeeper.connect")
    if servers is not None:
        raise BackupError(f"zookeeper.connect={servers}: the metadata is in ZooKeeper; back up and restore that")
    return config.metadata_path


@command.command()
@click.argument("file", type=click.Path())
@broker_config
def backup(config: BrokerConfig, file: str) -> None:
    """Write the metadata store to a new FILE, as of one moment; brokers may run."""
    from kafkastore.metadata.backup import back_up

    path = _path_of(config)
    mark = back_up(path, file)
    sys.stdout.write(f"{file} is a backup of {path} as of change {mark.generation}\n")


@command.command()
@click.argument("file", type=click.Path())
@broker_config
def restore(config: BrokerConfig, file: str) -> None:
    """Put the backup FILE in the place of the metadata store; no broker may run.

    What is replaced is kept beside it. Topics made after the backup keep their records: a broker that is alone serves
    them again, a cluster sets them aside as -stray.
    """
    from kafkastore.metadata import backup as backups

    path = _path_of(config)
    mark = backups.restore(file, path, config.log_dirs)
    sys.stdout.write(f"{path} is as of change {mark.generation} again\n")


@command.command("accept-loss")
@broker_config
def accept_loss(config: BrokerConfig) -> None:
    """Let the next start go on without what the metadata store has lost; no broker may run.

    In a cluster it is said to each broker. Records stay: topics that the store does not know any more are served by a
    broker that is alone, with nothing deleted until somebody configures them, and set aside as -stray by a cluster.
    """
    from kafkastore.metadata import backup as backups

    is_file = config.get("zookeeper.connect") is None
    for line in backups.accept_loss(config.metadata_path if is_file else None, config.log_dirs):
        sys.stdout.write(line + "\n")
    sys.stdout.write("The next start goes on with the metadata store as it is\n")


@command.command()
@broker_config
def check(config: BrokerConfig) -> int:
    """Say whether the store is as it was written, and the one of the log directories.

    Brokers may run.
    """
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
        sys.stderr.write(f"kafkastore metadata check: {fault}\n")
    if not faults and mark is not None:
        sys.stdout.write(f"{path} is as it was written: store {mark.store}, change {mark.generation}\n")
    return 1 if faults else 0


@command.command("config")
@broker_config
def show_config(config: BrokerConfig) -> int:
    """List the configurations that were changed at run time, a line for each.

    Also while no broker runs; those that are wrong, and so without effect, say why.
    """
    from kafkastore.cli import metadata_config

    return metadata_config.show(config)


@command.command("remove-config")
@click.argument("operand", metavar="KIND/NAME:KEY")
@broker_config
def remove_config(config: BrokerConfig, operand: str) -> None:
    """Remove one of them, as in brokers/1:log.roll.ms or topics/t:retention.ms.

    Brokers that run hear of it. KIND is brokers, topics, users, clients, ips, groups or client-metrics; NAME and KEY
    are as config shows them, and brokers/default is the default of all brokers.
    """
    from kafkastore.cli import metadata_config

    metadata_config.remove(config, operand)
