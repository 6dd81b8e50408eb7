"""Makes what both planes need to reach other brokers, from the configuration: TLS, and the proof of who this broker is.
Called once, before the listeners open.

Never: keeps a password, connects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore._core import BrokerLogin, BrokerTls
from kafkastore.interbroker.dialer import PLAIN, Dialer

if TYPE_CHECKING:
    from kafkastore._core import Security
    from kafkastore.config import BrokerConfig


def dialer_of(config: BrokerConfig, security: Security) -> Dialer:
    """What opens this broker's connections to others; the data plane is told the same. Raises StartError for
    certificates that cannot be used."""
    link, secret = config.brokers_link, config.inter_broker_secret
    if link is None:
        return PLAIN
    tls = None if link.tls is None else BrokerTls(link.tls)
    login = None
    own = None if tls is None else tls.user
    if link.user is not None:
        login = BrokerLogin.of_user(*link.user)
        own = link.user.name
    elif secret is not None:
        login = BrokerLogin.of_secret(secret.text, is_required=secret.is_required)
    users = None
    if link.is_by_principal:
        users = set() if config.authorizer is None else set(config.authorizer.super_users)
        users |= {f"User:{own}"} if own else set()
    security.reach_brokers(tls, login, users)
    return Dialer(tls, login)
