"""A broker with an authorizer, listeners for SASL and delegation tokens: whoever comes to its first listener may do
everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from peer.broker_factory import KINDS
from peer.broker_process import free_port

if TYPE_CHECKING:
    from pathlib import Path

    from peer.broker_process import BrokerProcess

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")


class Guarded(NamedTuple):
    broker: BrokerProcess
    sasl_port: int

    @property
    def bootstrap(self) -> str:
        return self.broker.bootstrap

    def login(self, user: str, mechanism: str = "PLAIN", password: str = "secret") -> list[str]:
        """The options of a client that logs in."""
        path = self.broker.folder / f"{user}.properties"
        module = LOGIN if mechanism == "PLAIN" else SCRAM
        path.write_text(
            f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
            f'sasl.jaas.config={module} username="{user}" password="{password}";\n'
        )
        return ["--bootstrap-server", f"127.0.0.1:{self.sasl_port}", "--command-config", str(path)]


def start(kind: str, folder: Path) -> Guarded:
    """The broker, which the caller stops."""
    broker, port = KINDS[kind](folder), free_port()
    users = f'{LOGIN} username="broker" password="x" user_alice="secret" user_bob="secret";'
    broker.overrides |= {
        "listeners": broker.properties()["listeners"] + f",SASL_PLAINTEXT://127.0.0.1:{port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{broker.port},SASL_PLAINTEXT://127.0.0.1:{port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": ",".join(("PLAIN", *SCRAM_MECHANISMS)),
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": users,
        **{f"listener.name.sasl_plaintext.{one.lower()}.sasl.jaas.config": f"{SCRAM};" for one in SCRAM_MECHANISMS},
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "delegation.token.secret.key": "of-the-tests",
    }
    broker.start()
    return Guarded(broker, port)
