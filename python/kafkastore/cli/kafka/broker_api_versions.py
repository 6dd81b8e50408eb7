"""``kafka-broker-api-versions``: the versions of each API that each broker serves."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from kafkastore.cli.kafka.flags import Flags
from kafkastore.cli.kafka.run import ask

if TYPE_CHECKING:
    from collections.abc import Sequence

PURPOSE: Final = "This tool helps to retrieve broker version information."
FLAGS: Final = Flags("kafka-broker-api-versions", PURPOSE)
FLAGS.add("--bootstrap-server", "HOST:PORT,...", help="REQUIRED: brokers to begin with.")
FLAGS.add("--command-config", "FILE", help="A client.properties.")


def main(arguments: Sequence[str]) -> int:
    given = FLAGS.asked(arguments)
    FLAGS.require(given, "bootstrap-server")
    from kafkastore.cli.kafka.api_versions_text import api_versions_text

    sys.stdout.write(ask(given.bootstrap_server, given.command_config, api_versions_text))
    return 0
