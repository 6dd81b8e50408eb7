"""``kafkastore security``: makes the files of a broker that lets in nobody who has not proven who they are, and names
what a configuration leaves open."""

from __future__ import annotations

import sys

USAGE = """\
usage: kafkastore security init --folder DIR [--hosts H,H,...] [--users U,U,...] [options]
       kafkastore security doctor [server.properties] [--override key=value ...]

init             makes DIR with a private authority, the broker's certificate, a server.properties, and for each user a
                 password, a certificate and files for clients; starts nothing. The broker listens with TLS alone:
                 SASL_SSL for passwords (SCRAM-SHA-512), SSL for certificates. The first user may do everything, the
                 others what ACLs allow them
doctor           a line for each thing that the configuration, or the mode of a file that it names, leaves open

options of init:
  --hosts H,H,...      names and addresses by which clients reach the broker (default: localhost,127.0.0.1); it listens
                       on every interface when one of them is not of this host alone
  --users U,U,...      default: admin,client
  --port N             of SASL_SSL; SSL has the next (default: 9093)
  --days N             how long the certificates are valid (default: 825)

exit status: 0 done, or nothing is open; 1 refused or failed, with one sentence on stderr, or something is open; 2 wrong
usage
"""


def main(arguments: list[str]) -> int:
    """Runs a command; returns the exit status, see USAGE."""
    if not arguments or {"-h", "--help"} & set(arguments):
        (sys.stdout if arguments else sys.stderr).write(USAGE)
        return 0 if arguments else 2
    if arguments[0] == "init":
        return _init(arguments[1:])
    from kafkastore.cli import security_doctor
    from kafkastore.cli.verbs import Verb, run_verb

    return run_verb("security", USAGE, {"doctor": Verb(security_doctor.run)}, arguments)


def _init(arguments: list[str]) -> int:
    from kafkastore.cli import security_init
    from kafkastore.cli.arguments import Parser, UsageError
    from kafkastore.errors import KafkastoreError

    parser = Parser("security init")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--hosts", default="localhost,127.0.0.1")
    parser.add_argument("--users", default="admin,client")
    parser.add_argument("--port", default="9093")
    parser.add_argument("--days", default="825")
    try:
        return security_init.run(parser.parse_args(arguments))
    except UsageError as error:
        sys.stderr.write(f"kafkastore security init: {error}\n\n{USAGE}")
        return 2
    except KafkastoreError as error:
        sys.stderr.write(f"kafkastore security init: {error.client_message}\n")
        return 1
