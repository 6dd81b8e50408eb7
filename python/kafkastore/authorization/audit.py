"""The audit log of authorisation, under Kafka's name for it: refusals, which the data plane writes
(``rust/broker/authorization.rs``), and each change of an ACL."""

from __future__ import annotations

import logging

audit = logging.getLogger("kafka.authorizer.logger")
