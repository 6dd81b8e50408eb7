"""A noun with its verbs, such as ``kafkastore topics``: its help says of each verb the whole first sentence."""

from __future__ import annotations

import click


class Noun(click.Group):
    """See the module."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """click's own cuts the sentences at the end of the line."""
        verbs = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, (verb.help or "").partition("\n\n")[0]) for name, verb in verbs if verb])
