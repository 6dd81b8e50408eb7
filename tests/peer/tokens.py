"""An authorization server in memory: signs tokens (RFC 7515) by hand, so that they can also be wrong in any place."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int) -> str:
    return encode(value.to_bytes((value.bit_length() + 7) // 8, "big"))


class AuthorizationServer:
    """Has an RSA key "rsa" and a key on P-256 "ec"."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.rsa = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.ec = ec.generate_private_key(ec.SECP256R1())
        self.jwks = folder / "jwks.json"
        self.write()

    @property
    def url(self) -> str:
        return self.jwks.as_uri()

    def write(self) -> None:
        """Publishes the public keys."""
        whole, point = self.rsa.public_key().public_numbers(), self.ec.public_key().public_numbers()
        keys = [
            {"kty": "RSA", "kid": "rsa", "use": "sig", "n": number(whole.n), "e": number(whole.e)},
            {
                "kty": "EC",
                "kid": "ec",
                "crv": "P-256",
                "x": encode(point.x.to_bytes(32, "big")),
                "y": encode(point.y.to_bytes(32, "big")),
            },
            {"kty": "oct", "kid": "secret", "k": encode(b"a shared secret")},
        ]
        self.jwks.write_text(json.dumps({"keys": keys}))

    def claims(self, **changes: Any) -> dict[str, Any]:
        now = int(time.time())
        given = {"sub": "alice", "iss": "https://issuer", "aud": "kafka", "iat": now, "exp": now + 600}
        return {name: value for name, value in (given | changes).items() if value is not None}

    def token(self, claims: dict[str, Any] | None = None, **header: Any) -> str:
        """A token with these claims, signed as its header says; ``alg`` is RS256 unless the header has another."""
        head = {"alg": "RS256", "typ": "JWT", "kid": "ec" if header.get("alg") == "ES256" else "rsa"} | header
        head = {name: value for name, value in head.items() if value is not None}
        text = encode(json.dumps(head).encode()) + "." + encode(json.dumps(claims or self.claims()).encode())
        return f"{text}.{encode(self.signature(head['alg'], text.encode()))}"

    def signature(self, algorithm: str, text: bytes) -> bytes:
        if algorithm == "RS256":
            return self.rsa.sign(text, padding.PKCS1v15(), hashes.SHA256())
        if algorithm == "PS256":
            pss = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.DIGEST_LENGTH)
            return self.rsa.sign(text, pss, hashes.SHA256())
        if algorithm == "ES256":
            r, s = decode_dss_signature(self.ec.sign(text, ec.ECDSA(hashes.SHA256())))
            return r.to_bytes(32, "big") + s.to_bytes(32, "big")
        return b""

    def public_pem(self) -> bytes:
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return self.rsa.public_key().public_bytes(serialization.Encoding.PEM, form)

    def mac(self, secret: bytes, header: dict[str, Any], claims: dict[str, Any] | None = None) -> str:
        """A token "signed" by HMAC, as whoever takes the public key for a secret would sign it."""
        text = encode(json.dumps(header).encode()) + "." + encode(json.dumps(claims or self.claims()).encode())
        return f"{text}.{encode(hmac.digest(secret, text.encode(), hashlib.sha256))}"
