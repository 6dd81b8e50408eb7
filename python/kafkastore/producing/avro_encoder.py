"""Values as Avro: by a schema, or by the newest one of a subject in a schema registry, whose id is written before each
value (Confluent's wire format)."""

from __future__ import annotations

import io
import json
import urllib.error
import urllib.parse
import urllib.request
from base64 import b64encode
from typing import Any, Final

from kafkastore.errors import ConfigError
from kafkastore.producing.json_records import RecordError

MAGIC: Final = b"\0"
TIMEOUT_S: Final = 10.0
MOST_BYTES: Final = 16 << 20


class AvroEncoder:
    """Makes bytes of what JSON says."""

    def __init__(self, schema: str, schema_id: int | None = None) -> None:
        """Raises ConfigError for a schema that is none, and without fastavro."""
        try:
            import fastavro
        except ImportError:
            raise ConfigError(
                "values are written with fastavro, which is not installed; pip install fastavro"
            ) from None
        self._writer = fastavro.schemaless_writer
        self._prefix = b"" if schema_id is None else MAGIC + schema_id.to_bytes(4, "big")
        try:
            self._schema = fastavro.parse_schema(json.loads(schema))
        except Exception as error:  # noqa: BLE001 - fastavro raises many kinds
            raise ConfigError(f"the schema is none of Avro's: {error}") from None

    def encode(self, value: Any) -> bytes | None:
        """Raises RecordError for what does not fit the schema."""
        if value is None:
            return None
        out = io.BytesIO()
        try:
            self._writer(out, self._schema, value, strict=True)
        except Exception as error:  # noqa: BLE001 - fastavro raises many kinds
            raise RecordError(f"its value does not fit the schema: {str(error) or type(error).__name__}") from None
        return self._prefix + out.getvalue()


def of_registry(url: str, subject: str) -> AvroEncoder:
    """An encoder with the newest schema of a subject. A user and a password may stand in the URL. Raises
    ConfigError."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"--schema-registry-url {url} is no URL; write http://localhost:8081")
    place = parts.netloc.rpartition("@")[2]
    named = urllib.parse.quote(subject, safe="")
    asked = f"{parts.scheme}://{place}{parts.path.rstrip('/')}/subjects/{named}/versions/latest"
    request = urllib.request.Request(asked)  # noqa: S310 - the scheme is looked at above
    if parts.username:
        user = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        request.add_header("Authorization", f"Basic {b64encode(user.encode()).decode()}")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - as above
            found = json.loads(answer.read(MOST_BYTES))
        kind, schema, schema_id = found.get("schemaType", "AVRO"), found["schema"], int(found["id"])
    except (urllib.error.URLError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfigError(
            f"--schema-registry-url: {place} has no schema of {subject}: {getattr(error, 'reason', error)}"
        ) from None
    if kind != "AVRO":
        raise ConfigError(f"the schema of {subject} is {kind}, and Avro alone is written here")
    return AvroEncoder(schema, schema_id)
