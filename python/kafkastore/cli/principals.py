"""Principals as options: ``User:alice``; ``alice`` alone is a user, too."""

from __future__ import annotations

from typing import Final

import click


class Principal(click.ParamType[str]):
    """See the module."""

    name = "principal"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        kind, colon, name = str(value).partition(":")
        if not colon:
            kind, name = "User", kind
        if not kind or not name:
            self.fail(f"{value} is no principal; write User:alice, or alice", param, ctx)
        return f"{kind}:{name}"


PRINCIPAL: Final = Principal()
