"""The ``sasl.*`` keys of a listener, as the data plane takes them (``rust/net/sasl.rs``).

``listener.name.<listener>.X`` replaces ``X`` for one listener, and ``listener.name.<listener>.<mechanism>.X`` is for
one mechanism of the listener, both in lower case (KIP-103, KIP-226). The users of PLAIN stand in the login module of
``listener.name.<listener>.plain.sasl.jaas.config``, as in Kafka; users of SCRAM are in the metadata store.

Never: logs a password, or shows one in an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.config.jaas import parse_jaas
from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from kafkastore.config.broker import BrokerConfig
    from kafkastore.config.listeners import Listener

PLAIN: Final = "PLAIN"
SCRAM_SHA_256: Final = "SCRAM-SHA-256"
SCRAM_SHA_512: Final = "SCRAM-SHA-512"
OAUTHBEARER: Final = "OAUTHBEARER"
MECHANISMS: Final = (PLAIN, SCRAM_SHA_256, SCRAM_SHA_512, OAUTHBEARER)
"""The mechanisms that are served."""

SERVED: Final = frozenset(
    [
        "connection.failed.authentication.delay.ms",
        "connections.max.reauth.ms",
        "sasl.enabled.mechanisms",
        "sasl.mechanism.inter.broker.protocol",
        "sasl.oauthbearer.allow.unverified.audience",
        "sasl.oauthbearer.allow.unverified.issuer",
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.sub.claim.name",
        "sasl.server.max.receive.size",
    ]
)
"""The keys with an effect on a listener with SASL."""

JAAS: Final = "sasl.jaas.config"

_USER: Final = "user_"
_MODULES: Final = {
    PLAIN: "org.apache.kafka.common.security.plain.PlainLoginModule",
    SCRAM_SHA_256: "org.apache.kafka.common.security.scram.ScramLoginModule",
    SCRAM_SHA_512: "org.apache.kafka.common.security.scram.ScramLoginModule",
    OAUTHBEARER: "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
_HANDLER: Final = "oauthbearer.sasl.server.callback.handler.class"
_VALIDATOR: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
"""What Kafka's brokers need for signed tokens; there is no other way here."""

_OF_LISTENERS: Final = frozenset(
    [
        "sasl.enabled.mechanisms",
        *(f"{mechanism.lower()}.{JAAS}" for mechanism in MECHANISMS),
        *(name for name in SERVED if name.startswith("sasl.oauthbearer.")),
        _HANDLER,
    ]
)


class TokenSettings(NamedTuple):
    """What the tokens of OAUTHBEARER on a listener must say, and where the keys are that sign them."""

    keys_url: str
    refresh_ms: int
    retry_ms: int
    retry_max_ms: int
    audiences: list[str]
    issuer: str | None
    clock_skew_s: int
    user_claim: str


class SaslSettings(NamedTuple):
    """What a listener does with SASL; times in milliseconds, ``plain_users`` are passwords by user."""

    mechanisms: list[str]
    plain_users: dict[str, str]
    max_session_ms: int
    max_frame_bytes: int
    failure_delay_ms: int
    tokens: TokenSettings | None
    """None without OAUTHBEARER."""

    def __repr__(self) -> str:
        return f"SaslSettings({', '.join(self.mechanisms)})"


def is_of_listeners(key: str) -> bool:
    """Whether a key may be set for one listener, and has an effect there."""
    return key in _OF_LISTENERS


def sasl_settings(config: BrokerConfig, listener: Listener) -> SaslSettings:
    """What ``listener`` does with SASL. Raises ConfigError."""
    own = config.of_listeners.get(listener.name.lower(), {})
    mechanisms = _mechanisms(config, listener, own)
    users: dict[str, str] = {}
    for mechanism in mechanisms:
        name = f"listener.name.{listener.name.lower()}.{mechanism.lower()}.{JAAS}"
        text = own.get(f"{mechanism.lower()}.{JAAS}", "")
        if not text.strip():
            if mechanism == PLAIN:
                raise ConfigError(
                    f'{name} is not set; give the users of PLAIN, as in {_MODULES[PLAIN]} required user_alice="...";'
                )
            continue
        module = parse_jaas(name, text)
        if module.name != _MODULES[mechanism]:
            raise ConfigError(
                f"Invalid value [hidden] for configuration {name}: {module.name} is not served; give "
                f"{_MODULES[mechanism]}"
            )
        if mechanism == PLAIN:
            users = {
                option.removeprefix(_USER): password
                for option, password in module.options.items()
                if option.startswith(_USER)
            }
            if not all(users) or not all(users.values()):
                raise ConfigError(f"Invalid value [hidden] for configuration {name}: a user or a password is empty")
    return SaslSettings(
        mechanisms=mechanisms,
        plain_users=users,
        max_session_ms=config.get_int("connections.max.reauth.ms"),
        max_frame_bytes=config.get_int("sasl.server.max.receive.size"),
        failure_delay_ms=config.get_int("connection.failed.authentication.delay.ms"),
        tokens=_tokens(config, listener, own) if OAUTHBEARER in mechanisms else None,
    )


def _tokens(config: BrokerConfig, listener: Listener, own: dict[str, str]) -> TokenSettings:
    prefix = f"listener.name.{listener.name.lower()}."
    handler = own.get(_HANDLER, _VALIDATOR).strip()
    if handler != _VALIDATOR:
        raise ConfigError(
            f"Invalid value {handler} for configuration {prefix}{_HANDLER}: it is not served; give {_VALIDATOR}"
        )

    def value(key: str) -> Any:
        name = f"sasl.oauthbearer.{key}"
        return config.keys[name].parse(own[name]) if name in own else config.get(name)

    url = value("jwks.endpoint.url") or ""
    if not url.startswith(("file:", "https://", "http://")):
        raise ConfigError(
            f"Invalid value {url} for configuration sasl.oauthbearer.jwks.endpoint.url: listener {listener.name} takes "
            "tokens by OAUTHBEARER, and has to know who signs them; give a file: or https: URL of a JWK set"
        )
    for claim in ("audience", "issuer"):
        if not value(f"expected.{claim}") and not value(f"allow.unverified.{claim}"):
            raise ConfigError(
                f"sasl.oauthbearer.expected.{claim} is not set, and listener {listener.name} takes tokens by "
                f"OAUTHBEARER, of any {claim}; set it to what they have to say, or "
                f"sasl.oauthbearer.allow.unverified.{claim} to true"
            )
    return TokenSettings(
        keys_url=url,
        refresh_ms=value("jwks.endpoint.refresh.ms"),
        retry_ms=value("jwks.endpoint.retry.backoff.ms"),
        retry_max_ms=value("jwks.endpoint.retry.backoff.max.ms"),
        audiences=value("expected.audience") or [],
        issuer=value("expected.issuer") or None,
        clock_skew_s=value("clock.skew.seconds"),
        user_claim=value("sub.claim.name"),
    )


def _mechanisms(config: BrokerConfig, listener: Listener, own: dict[str, str]) -> list[str]:
    key = "sasl.enabled.mechanisms"
    if key in own:
        name, given = f"listener.name.{listener.name.lower()}.{key}", own[key]
    else:
        name, given = key, config.text(key) or ""
    found = list(dict.fromkeys(one.strip() for one in given.split(",") if one.strip()))
    wrong = [one for one in found if one not in MECHANISMS]
    if not found:
        raise ConfigError(
            f"Configuration {name} is empty, and listener {listener.name} needs a mechanism for {listener.protocol}; "
            f"give {', '.join(MECHANISMS)} or some of them"
        )
    if wrong:
        raise ConfigError(
            f"Invalid value {given} for configuration {name}: listener {listener.name} needs {listener.protocol}, and "
            f"{wrong[0]} is not served; give {', '.join(MECHANISMS)} or some of them"
        )
    return found
