"""Every kind of certificate that a client must not get in with: each is refused in the handshake of TLS.

Runs against Apache Kafka as well (``--against kafka``).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from peer.bad_certificates import Shown, authority, bad, good, pem, refuses, rsa, self_signed
from peer.broker_factory import BrokerFactory
from peer.broker_process import free_port
from peer.certificates import Authority

LEAST_KINDS = 40
REFUSED_S = 30.0
WAITED_S = 2.0
"""How long a broker is watched that must not refuse."""
TAKEN_BY_KAFKA = {
    "a chain of ten authorities",
    "below an authority for servers",
    "of an authority",
    "signed with SHA-1",
    "the authority's own",
    "with a key of DSA",
    "with a key of Ed448",
    "with a key of RSA of 1,024 bits",
    "with bytes behind it",
}
"""What Apache Kafka 4.4 lets in, on Java 17."""


def test_no_bad_certificate_is_let_in(broker_factory: BrokerFactory, tmp_path: Path, against: str) -> None:
    root, of_rsa = authority("root"), authority("root of RSA", rsa.generate_private_key(65537, 2048))
    bob = self_signed("bob")
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(pem(root, of_rsa, bob))
    broker, port = broker_factory(start=False), free_port()
    broker.overrides |= {
        "listeners": broker.properties()["listeners"] + f",SSL://127.0.0.1:{port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{broker.port},SSL://127.0.0.1:{port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL",
        "ssl.keystore.location": str(Authority(tmp_path / "broker").server().both),
        "ssl.keystore.type": "PEM",
        "ssl.truststore.location": str(trusted),
        "ssl.truststore.type": "PEM",
        "ssl.client.auth": "required",
        "socket.connection.setup.timeout.ms": "300000",  # what is taken stays open, and so is no refusal
    }
    broker.start()
    with ThreadPoolExecutor(8) as pool:

        def refused(kinds: dict[str, Shown], within_s: float) -> set[str]:
            answers = pool.map(lambda shown: refuses(port, shown, within_s), kinds.values())
            return {name for name, is_refused in zip(kinds, answers, strict=True) if is_refused}

        taken, kinds = good(root, of_rsa), bad(root, of_rsa)
        taken["trusted as it is"] = Shown([bob.certificate], bob.key)
        of_bob = bob.issue("admin")
        kinds["of one that is trusted as it is"] = Shown([of_bob.certificate], of_bob.key)
        kinds["of one that is trusted as it is, and shown"] = Shown([of_bob.certificate, bob.certificate], of_bob.key)
        assert len(kinds) >= LEAST_KINDS
        assert refused(taken, WAITED_S) == set()
        assert kinds.keys() - refused(kinds, REFUSED_S) == (TAKEN_BY_KAFKA if against == "kafka" else set())
        assert refused(taken, WAITED_S) == set(), "the broker serves on"
