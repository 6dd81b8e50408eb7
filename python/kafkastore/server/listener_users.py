"""Tells the data plane how clients of each listener with SASL prove who they are. Called before the listeners open.

Never: keeps a password.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.config.sasl import sasl_settings

if TYPE_CHECKING:
    from kafkastore._core import Security
    from kafkastore.config import BrokerConfig


def let_users_in(config: BrokerConfig, security: Security) -> None:
    for listener in config.listeners:
        if listener.has_sasl:
            found = sasl_settings(config, listener)
            tokens = found.tokens
            security.set_sasl(
                listener.name,
                found.mechanisms,
                found.plain_users,
                max_session_ms=found.max_session_ms,
                max_frame_bytes=found.max_frame_bytes,
                failure_delay_ms=found.failure_delay_ms,
                audiences=[] if tokens is None else tokens.audiences,
                issuer=None if tokens is None else tokens.issuer,
                clock_skew_s=0 if tokens is None else tokens.clock_skew_s,
                user_claim="sub" if tokens is None else tokens.user_claim,
            )
