"""What is asked of security that is not switched on: ACLs without an authorizer, delegation tokens over PLAINTEXT,
SCRAM users and client quotas where there are none."""

from __future__ import annotations

from typing import Any

from parity.cases import Case

SECURITY_OFF: list[Case] = []


def case(name: str, api: str, versions: tuple[int, ...], **given: Any) -> None:
    SECURITY_OFF.append(Case(name, api, versions, given))


FILTER = {
    "resource_type_filter": 2,
    "resource_name_filter": None,
    "pattern_type_filter": 3,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
BINDING = {
    "resource_type": 2,
    "resource_name": "t",
    "resource_pattern_type": 3,
    "principal": "User:a",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}

case("acls: describe", "describe_acls", (1, 2, 3), **FILTER)
case("acls: create", "create_acls", (1, 2, 3), creations=[BINDING, {**BINDING, "principal": "User:b"}])
case("acls: create nothing", "create_acls", (3,), creations=[])
case("acls: delete", "delete_acls", (1, 2, 3), filters=[FILTER, FILTER])
case("acls: delete nothing", "delete_acls", (3,), filters=[])
case("tokens: describe all", "describe_delegation_token", (1, 2, 3), owners=None)
case("tokens: describe none", "describe_delegation_token", (1, 3), owners=[])
case("users: describe all", "describe_user_scram_credentials", (0,), users=None)
case("users: describe an empty list", "describe_user_scram_credentials", (0,), users=[])
case("users: describe some", "describe_user_scram_credentials", (0,), users=[{"name": "a"}, {"name": "b"}])
case("users: describe one twice", "describe_user_scram_credentials", (0,), users=[{"name": "a"}, {"name": "a"}])
case("users: describe one without a name", "describe_user_scram_credentials", (0,), users=[{"name": ""}])
case("quotas: describe all", "describe_client_quotas", (0, 1), components=[], strict=False)


def quotas(name: str, *components: tuple[str, int, str | None], strict: bool = False) -> None:
    asked = [{"entity_type": kind, "match_type": how, "match": match} for kind, how, match in components]
    case(name, "describe_client_quotas", (1,), components=asked, strict=strict)


quotas("quotas: of a user", ("user", 0, "a"))
quotas("quotas: of the default user, strictly", ("user", 1, None), strict=True)
quotas("quotas: of any client of any user", ("user", 2, None), ("client-id", 2, None))
quotas("quotas: of an unknown type", ("planet", 0, "a"))
quotas("quotas: of an empty type", ("", 0, "a"))
quotas("quotas: of a type twice", ("user", 0, "a"), ("user", 2, None))
quotas("quotas: of an unknown match", ("user", 7, None))
quotas("quotas: of no name", ("user", 0, None))
quotas("quotas: of an ip", ("ip", 0, "10.0.0.1"))
quotas("quotas: of an ip that is none", ("ip", 0, "not an address"))
quotas("quotas: of an ip and a user", ("ip", 0, "10.0.0.1"), ("user", 0, "a"))
quotas("quotas: of a default with a name", ("user", 1, "a"))
