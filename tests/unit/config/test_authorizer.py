"""The keys of the authorizer: who may do everything, and which values refuse the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkastore.config import BrokerConfig
from kafkastore.config.authorizer import CLASSES, AuthorizerSettings
from kafkastore.errors import ConfigError, StartupError

CLASS = f"authorizer.class.name={CLASSES[0]}"


@pytest.mark.parametrize("name", CLASSES)
def test_both_of_kafkas_authorizers_are_ours(name: str) -> None:
    config = BrokerConfig.load(
        None,
        [f"authorizer.class.name={name}", "super.users=User:a; User:CN=b,O=c;", "allow.everyone.if.no.acl.found=TRUE"],
    )
    assert config.authorizer == AuthorizerSettings(frozenset(("User:a", "User:CN=b,O=c")), allows_everyone=True)


def test_without_an_authorizer_there_are_no_settings() -> None:
    assert BrokerConfig.load(None).authorizer is None
    assert BrokerConfig.load(None, ["authorizer.class.name="]).authorizer is None


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([f"{CLASS}x"], r"^authorizer.class.name=.*Authorizerx cannot be loaded; give org\.apache"),
        ([CLASS, "super.users=admin"], r"^super.users=admin has admin, which names no principal; write User:admin"),
        ([CLASS, "super.users=User:a,b;c"], "has c, which names no principal"),
        ([CLASS, "allow.everyone.if.no.acl.found=yes"], "^allow.everyone.if.no.acl.found=yes is neither true nor"),
        (["super.users=User:admin"], "^super.users=User:admin has no effect without an authorizer"),
        (["allow.everyone.if.no.acl.found=false"], "^allow.everyone.if.no.acl.found=false has no effect without"),
    ],
)
def test_wrong_value_refuses_the_start_with_one_sentence(given: list[str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as raised:
        BrokerConfig.load(None, given)
    assert "\n" not in str(raised.value)


def test_brokers_of_a_cluster_with_an_authorizer_need_a_proof(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s" * 32 + "\n")
    secret.chmod(0o600)
    cluster = [CLASS, f"kafkastore.metadata.path={tmp_path / 'metadata'}"]
    for given in (cluster, [*cluster, f"{FILE}={secret}", "kafkastore.inter.broker.secret.required=false"]):
        with pytest.raises(StartupError, match="in a cluster needs brokers that know each other"):
            BrokerConfig.load(None, given).load_secret()
    BrokerConfig.load(None, [*cluster, f"{FILE}={secret}"]).load_secret()
    BrokerConfig.load(None, [CLASS]).load_secret()
    alone = [CLASS, f"{FILE}={secret}"]
    BrokerConfig.load(None, alone).load_secret()
    with pytest.raises(StartupError, match=r"leave kafkastore\.inter\.broker\.secret\.required at true"):
        BrokerConfig.load(None, [*alone, "kafkastore.inter.broker.secret.required=false"]).load_secret()


FILE = "kafkastore.inter.broker.secret.file"
