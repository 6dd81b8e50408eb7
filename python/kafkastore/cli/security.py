"""``kafkastore security``: makes and renews the files of a broker that lets in nobody who has not proven who they are,
and names what a configuration leaves open."""

from __future__ import annotations

import sys
from typing import Final

USAGE = """\
usage: kafkastore security init --folder DIR [--hosts H,H,...] [--users U,U,...] [options]
       kafkastore security add-user --folder DIR --users U,U,... [options]
       kafkastore security add-host --folder DIR --hosts H,H,... [options]
       kafkastore security renew --folder DIR [options]
       kafkastore security doctor [server.properties] [--override key=value ...]

init             makes DIR with a private authority, the broker's certificate, a server.properties, and for each user a
                 password, a certificate and files for clients; starts nothing. The broker listens with TLS alone:
                 SASL_SSL for passwords (SCRAM-SHA-512), SSL for certificates. The first user may do everything, the
                 others what ACLs allow them
add-user         more users of a folder that init has made, with passwords, certificates and files as init makes them;
                 the broker may run, and lets them in within a second or two
add-host         another certificate for the broker, for the hosts that it has and these; a broker that runs takes it
                 within seconds
renew            other certificates for the broker, the authority and the users, from today; keys of users change, the
                 authority's key and passwords stay, and a broker that runs takes its own within seconds
doctor           a line for each thing that the configuration, or the mode of a file that it names, leaves open, and for
                 each certificate that ends within 30 days

options:
  --hosts H,H,...      names and addresses by which clients reach the broker (default: localhost,127.0.0.1); it listens
                       on every interface when one of them is not of this host alone
  --users U,U,...      init: admin,client by default
  --port N             init: of SASL_SSL; SSL has the next (default: 9093)
  --days N             how long the certificates are valid (default: 825)
  --ca-key FILE        the authority's key (default: ca.key of the folder)

exit status: 0 done, or nothing is open; 1 refused or failed, with one sentence on stderr, or something is open; 2 wrong
usage
"""


def main(arguments: list[str]) -> int:
    """Runs a command; returns the exit status, see USAGE."""
    if arguments[0] in _OF_FOLDERS:
        return _of_folder(*arguments)
    from kafkastore.cli import security_doctor
    from kafkastore.cli.verbs import Verb, run_verb

    return run_verb({"doctor": Verb(security_doctor.run)}, arguments)


_OF_FOLDERS: Final[dict[str, dict[str, str | None]]] = {
    "init": {"--hosts": "localhost,127.0.0.1", "--users": "admin,client", "--port": "9093"},
    "add-user": {"--users": None, "--ca-key": ""},
    "add-host": {"--hosts": None, "--ca-key": ""},
    "renew": {"--ca-key": ""},
}
"""The options of each command with their defaults, None for one that must be given; besides --folder and --days."""


def _of_folder(command: str, *arguments: str) -> int:
    from kafkastore.cli import security_folder, security_init
    from kafkastore.cli.arguments import Parser
    from kafkastore.errors import KafkastoreError

    parser = Parser(f"security {command}")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--days", default="825")
    for option, default in _OF_FOLDERS[command].items():
        parser.add_argument(option, default=default, required=default is None)
    runs = {
        "init": security_init.run,
        "add-user": security_folder.add_users,
        "add-host": security_folder.add_hosts,
        "renew": security_folder.renew,
    }
    try:
        return runs[command](parser.parse_args(list(arguments)))
    except KafkastoreError as error:
        sys.stderr.write(f"kafkastore security {command}: {error.client_message}\n")
        return 1
