"""``kafkastore completion``, and the words that a shell offers: names from the cluster that the command line, the
environment or the profile names.

click asks for them in a process of its own (``_KAFKASTORE_COMPLETE``). A cluster that does not answer at once offers
nothing, and nothing is printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from kafkastore.cli.option_types import OptionType
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kafkastore.admin.admin_client import AdminClient

    Params = Mapping[str, Any]

LIMIT_S: Final = 1.0


class ClusterName(OptionType):
    """A name of something in the cluster; any text is taken. ``names`` gets what the command line has before it."""

    def __init__(self, name: str, names: Callable[[AdminClient, Params], Awaitable[list[str]]]) -> None:
        self.name = name
        self._names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin so."""
        given = ctx.params.get(param.name or "") or ()
        return [CompletionItem(name) for name in self._known(ctx) if name.startswith(incomplete) and name not in given]

    def _known(self, ctx: click.Context) -> list[str]:
        import asyncio

        from kafkastore.cli.cluster_options import settings_of

        async def within_limit(client: AdminClient) -> list[str]:
            async with asyncio.timeout(LIMIT_S):
                return sorted(await self._names(client, given))

        given = ctx.params
        try:
            settings = settings_of(
                given.get("bootstrap_server"),
                given.get("command_config"),
                given.get("profile"),
                given.get("properties") or (),
            )
            return settings.ask(within_limit)
        except (KafkastoreError, OSError, click.UsageError):
            return []


async def _topics(client: AdminClient, _: Params) -> list[str]:
    from kafkastore.admin.topics import all_topics

    return list(await all_topics(client))


class ProfileName(OptionType):
    """A name of a profile; any text is taken."""

    name = "name"

    def shell_complete(self, _: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin so."""
        from kafkastore.cli.profiles import names

        return [CompletionItem(name) for name in names() if name.startswith(incomplete)]


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print what makes bash, zsh or fish complete commands, options and names.

    For every new shell:

    \b
      bash:  echo 'eval "$(kafkastore completion bash)"' >> ~/.bashrc
      zsh:   echo 'eval "$(kafkastore completion zsh)"' >> ~/.zshrc
      fish:  kafkastore completion fish > ~/.config/fish/completions/kafkastore.fish

    Names of topics and the like come from the cluster that the command line, the environment or the profile names.
    """
    from click.shell_completion import get_completion_class

    from kafkastore.cli.commands import COMPLETE_VARIABLE

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"click has no completion for {shell}")
    source = found(ctx.find_root().command, {}, "kafkastore", COMPLETE_VARIABLE).source()
    click.echo(source.replace('string split ","', 'string split --max 1 ","'))  # fish: sentences of help have commas


TOPIC: Final = ClusterName("topic", _topics)


async def _groups(client: AdminClient, _: Params) -> list[str]:
    from kafkastore.admin.groups import list_groups

    return [group.group_id for group in await list_groups(client)]


async def _transactional_ids(client: AdminClient, _: Params) -> list[str]:
    from kafkastore.admin.transactions import list_transactions

    return [one.transactional_id for one in await list_transactions(client)]


GROUP: Final = ClusterName("group", _groups)
TRANSACTIONAL_ID: Final = ClusterName("transactional id", _transactional_ids)
PROFILE: Final = ProfileName()


async def _users(client: AdminClient, _: Params) -> list[str]:
    from kafkastore.admin.scram import describe_users

    return list(await describe_users(client))


USER: Final = ClusterName("user", _users)


async def _config_names(client: AdminClient, given: Params) -> list[str]:
    from kafkastore.admin.configs import list_config_resources
    from kafkastore.cli.configs_words import DEFAULT, KINDS

    names = await list_config_resources(client, KINDS[given["kind"]])
    return [*names, DEFAULT] if given["kind"] == "broker" else names


async def _config_keys(client: AdminClient, given: Params) -> list[str]:
    from kafkastore.admin.configs import describe_configs
    from kafkastore.cli.configs_words import resource_of

    resource = resource_of(given["kind"], given.get("name") or given["names"][0])
    entries = (await describe_configs(client, [resource]))[resource]
    return [entry.name for entry in entries] if isinstance(entries, tuple) else []


CONFIG_NAME: Final = ClusterName("name", _config_names)
CONFIG_KEY: Final = ClusterName("key", _config_keys)
