"""What ACLs and quotas cost: kafkastore with both beside kafkastore with neither, by turns in one run.

    make tls-bench TLS_MODULE=tls.rights
    make tls-bench TLS_MODULE=tls.rights TLS_ARGS="--rounds 9 --only fetch"

One broker decides by `--acls` ACLs, most of them of other users and topics, and counts the clients' bytes and time
against quotas that they never reach. The clients are `User:ANONYMOUS` of a plaintext listener: they produce and fetch
what an ACL with a prefix lets them. The other broker has no authorizer and no quota. Prints medians, and the guarded
broker's over the free one's. Never measures a client that was throttled.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from parity.raw_client import RawClient
from peer.broker_process import BrokerProcess
from peer.kafkastore_broker import KafkastoreBroker
from tls.load import Figures, Target, counts_bytes, fill, measure, shown

SCENARIOS: Final = ("p16k_c4", "small_c16", "fetch")
AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
TOPIC, LITERAL, PREFIXED = 2, 3, 4
ALL, READ, ALLOW = 2, 3, 3
FETCHED: Final = "load-fetched"
FAR_AWAY: Final = {"producer_byte_rate": 1e13, "consumer_byte_rate": 1e13, "request_percentage": 1e6}
GUARDED, FREE = "guarded", "free"
AT_ONCE: Final = 500
"""ACLs of a request."""


def acl(principal: str, name: str, pattern: int, operation: int) -> dict[str, Any]:
    return {
        "resource_type": TOPIC,
        "resource_name": name,
        "resource_pattern_type": pattern,
        "principal": principal,
        "host": "*",
        "operation": operation,
        "permission_type": ALLOW,
    }


def guard(broker: BrokerProcess, count: int) -> None:
    """Gives a broker ACLs and quotas, and restarts it with an administrator other than its clients."""
    broker.overrides |= {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}
    broker.restart()
    client = RawClient("127.0.0.1", broker.port)
    acls = [acl("User:ANONYMOUS", "load-", PREFIXED, ALL)]
    for number in range(count - 1):
        pattern = LITERAL if number % 2 else PREFIXED
        acls.append(acl(f"User:user-{number % 97}", f"topic-{number}", pattern, READ))
    for start in range(0, count, AT_ONCE):
        answer = client.ask("create_acls", 3, {"creations": acls[start : start + AT_ONCE]})
        assert all(one.error_code == 0 for one in answer.results), answer
    ops = [{"key": key, "value": value, "remove": False} for key, value in FAR_AWAY.items()]
    entities = [("user", "ANONYMOUS"), ("user", None), ("client-id", "load")]
    for kind, name in entities:
        entry = {"entity": [{"entity_type": kind, "entity_name": name}], "ops": ops}
        answer = client.ask("alter_client_quotas", 1, {"entries": [entry], "validate_only": False})
        assert all(one.error_code == 0 for one in answer.entries), answer
    client.close()
    broker.overrides["super.users"] = "User:admin"
    broker.restart()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tls.rights", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--acls", type=int, default=1000)
    parser.add_argument("--only", default=",".join(SCENARIOS), help="scenarios, separated by commas")
    given = parser.parse_args()
    scenarios = given.only.split(",")
    found: dict[tuple[str, str], list[Figures]] = {}
    with tempfile.TemporaryDirectory(prefix="kafkastore-rights-") as temporary:
        folder = Path(temporary)
        brokers: dict[str, BrokerProcess] = {}
        try:
            for kind in (FREE, GUARDED):
                settings = {"log.segment.delete.delay.ms": "500"}
                brokers[kind] = KafkastoreBroker(folder / kind, settings).start()
            guard(brokers[GUARDED], given.acls)
            targets = [Target(kind, one.pid, one.bootstrap, one.port, "") for kind, one in brokers.items()]
            for target in targets:
                fill(target, FETCHED)
            for number in range(given.rounds):
                for scenario in scenarios:
                    # who comes first changes, so that neither profits from what the other leaves behind
                    for target in targets if number % 2 else reversed(targets):
                        one = measure(target, scenario, FETCHED, folder)
                        found.setdefault((scenario, target.kind), []).append(one)
                        sys.stderr.write(f"{number + 1} {scenario:<10} {target.kind:<8} {shown(one)}\n")
        finally:
            for broker in brokers.values():
                broker.stop()
    sys.stdout.write(f"{given.acls:,} ACLs, medians of {given.rounds} rounds\n\n")
    sys.stdout.write(table(found, scenarios))


def table(found: dict[tuple[str, str], list[Figures]], scenarios: list[str]) -> str:
    """A row for each scenario."""
    head = ["scenario", "neither", "ACLs and quotas", "ratio", "lowest, highest of a round", "CPU: neither", "both"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for scenario in scenarios:
        free, guarded = found[scenario, FREE], found[scenario, GUARDED]
        ratios = sorted(ours.rate / theirs.rate for ours, theirs in zip(guarded, free, strict=True))
        rates = [statistics.median(one.rate for one in side) for side in (free, guarded)]
        cpu = [statistics.median(one.cpu for one in side) for side in (free, guarded)]
        unit, per = ("MB/s", "s a GB") if counts_bytes(scenario) else ("requests/s", "s for 10,000")
        lines.append(
            f"| {scenario} | {rates[0]:,.0f} {unit} | {rates[1]:,.0f} {unit} | {rates[1] / rates[0]:.3f} |"
            f" {ratios[0]:.2f}, {ratios[-1]:.2f} | {cpu[0]:.3f} {per} | {cpu[1]:.3f} {per} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
