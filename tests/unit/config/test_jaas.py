"""The one login module of ``sasl.jaas.config`` (KIP-85)."""

from __future__ import annotations

import pytest

from kafkastore.config.jaas import LoginModule, parse_jaas
from kafkastore.errors import ConfigError

KEY = "listener.name.clients.plain.sasl.jaas.config"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a.Module required;", {}),
        ('a.Module required user_alice="secret";', {"user_alice": "secret"}),
        ('a.Module REQUIRED\n  username="admin"\n  password = "x" ;\n', {"username": "admin", "password": "x"}),
        ("a.Module required user_a=bare user_b='single';", {"user_a": "bare", "user_b": "single"}),
        ('a.Module required user_a="a \\"quoted\\" \\\\ word; x=y";', {"user_a": 'a "quoted" \\ word; x=y'}),
        ('a.Module required // comment; x="y"\n user_a="http://x" /* user_b="z" */;', {"user_a": "http://x"}),
    ],
)
def test_options_are_read_as_in_java(text: str, options: dict[str, str]) -> None:
    assert parse_jaas(KEY, text) == LoginModule("a.Module", options)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.Module",
        "a.Module;",
        "a.Module needed;",
        "a.Module required",
        'a.Module required user_alice="secret"',
        'a.Module required user_alice="secret;',
        "a.Module required user_alice=;",
        "a.Module required user_alice;",
        "a.Module required =secret;",
        "a.Module required; b.Module required;",
        "Server { a.Module required; };",
    ],
)
def test_what_is_malformed_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ConfigError, match=KEY) as raised:
        parse_jaas(KEY, text)
    assert "secret" not in str(raised.value)


def test_a_description_shows_no_option() -> None:
    assert "secret" not in repr(parse_jaas(KEY, 'a.Module required user_alice="secret";'))
