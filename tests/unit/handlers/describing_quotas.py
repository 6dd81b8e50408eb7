"""DescribeClientQuotas as plain values, for the tests of both APIs of quotas."""

from __future__ import annotations

from .one_broker import OneBroker

EXACT, DEFAULT, ANY = 0, 1, 2


def described(
    broker: OneBroker, *components: tuple[str, int, str | None], strict: bool = False, version: int = 1
) -> dict[tuple[tuple[str, str | None], ...], dict[str, float]]:
    """The quotas of each entity that the filter matches."""
    given = {
        "components": [{"entity_type": kind, "match_type": how, "match": match} for kind, how, match in components],
        "strict": strict,
    }
    answer = broker.ask("describe_client_quotas", version, given)
    assert (answer.error_code, answer.error_message) == (0, "")
    return {
        tuple((one.entity_type, one.entity_name) for one in entry.entity): {one.key: one.value for one in entry.values}
        for entry in answer.entries
    }
