"""Certificates of clients that a broker must refuse, each with what is wrong with it as its name; and a client of TLS
1.2 that shows any bytes as its certificates.

Libraries do not load most of these certificates, so :func:`refuses` speaks TLS 1.2 by hand as far as a server needs to
judge a client: certificates, a key exchange, and the proof that the client has the key. The broker answers a bad
certificate or proof with an alert, and waits for the rest of the handshake after a good one. Never: finishes a
handshake, or checks the server.
"""

from __future__ import annotations

import datetime as dt
import os
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, padding, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)
DER = serialization.Encoding.DER
CLIENT = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
ALERT, HANDSHAKE_RECORD = 21, 22
CLIENT_HELLO, CERTIFICATE, SERVER_HELLO_DONE, CERTIFICATE_VERIFY, CLIENT_KEY_EXCHANGE = 1, 11, 14, 15, 16
ECDSA_SHA256, RSA_SHA256 = 0x0403, 0x0401
RECORD_BYTES = 16_000


def name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


@dataclass(frozen=True)
class Signer:
    """A certificate with its key."""

    subject: x509.Name
    key: Any
    certificate: bytes = b""

    def issue(self, subject: str, **given: Any) -> Signer:
        """A certificate that this one signs; see :class:`Content`."""
        content = replace(Content(name(subject)), **given)
        return Signer(content.subject, content.key, content.signed_by(self))


@dataclass(frozen=True)
class Content:
    """What a certificate says: of a client, unless it is told otherwise."""

    subject: x509.Name
    key: Any = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    begins: dt.datetime = NOW - DAY
    ends: dt.datetime = NOW + 30 * DAY
    is_authority: bool = False
    path_length: int | None = None
    usage: x509.ExtendedKeyUsage | None = CLIENT
    extensions: tuple[tuple[Any, bool], ...] = ()

    def signed_by(self, signer: Signer, algorithm: Any = None) -> bytes:
        builder = (
            x509.CertificateBuilder()
            .subject_name(self.subject)
            .issuer_name(signer.subject)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self.begins)
            .not_valid_after(self.ends)
            .add_extension(x509.BasicConstraints(self.is_authority, self.path_length), critical=True)
        )
        if self.usage is not None:
            builder = builder.add_extension(self.usage, critical=False)
        for extension, is_critical in self.extensions:
            builder = builder.add_extension(extension, critical=is_critical)
        return builder.sign(signer.key, algorithm or hashes.SHA256()).public_bytes(DER)


def self_signed(subject: str, **given: Any) -> Signer:
    content = replace(Content(name(subject)), **given)
    signer = Signer(content.subject, content.key)
    return replace(signer, certificate=content.signed_by(signer))


def authority(subject: str, key: Any = None) -> Signer:
    key = key or ec.generate_private_key(ec.SECP256R1())
    return self_signed(subject, key=key, is_authority=True, usage=None)


@dataclass(frozen=True)
class Shown:
    """What a client shows: certificates, its own first, and the key with which it proves to own the first."""

    certificates: list[bytes]
    key: Any


def key_usage(**given: bool) -> x509.KeyUsage:
    names = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
             "key_cert_sign", "crl_sign", "encipher_only", "decipher_only")  # fmt: skip
    return x509.KeyUsage(**{one: given.get(one, False) for one in names})


INTERMEDIATE = {"is_authority": True, "usage": None}


def _chain(root: Signer, *steps: dict[str, Any]) -> Shown:
    """Authorities below the root, and the client's certificate below them."""
    signers = [root]
    for number, step in enumerate(steps):
        signers.append(signers[-1].issue(f"authority {number}", **{**INTERMEDIATE, **step}))
    client = signers[-1].issue("alice")
    return Shown([client.certificate, *(one.certificate for one in reversed(signers[1:]))], client.key)


def good(root: Signer, rsa_root: Signer) -> dict[str, Shown]:
    """So that the bad ones are refused for the reason that they name."""

    def of(signer: Signer, **given: Any) -> Shown:
        client = signer.issue("alice", **given)
        return Shown([client.certificate], client.key)

    return {
        "of the authority": of(root),
        "of the authority with a key of RSA": of(rsa_root),
        "with a key of RSA": of(root, key=rsa.generate_private_key(65537, 2048)),
        "below another authority": _chain(root, {}),
        "below an authority that may sign": _chain(root, {"extensions": ((key_usage(key_cert_sign=True), True),)}),
        "of a name that its authority may sign": _named(root, "alice.example.org"),
    }


def _named(root: Signer, host: str) -> Shown:
    """Below an authority that may sign for hosts of example.org."""
    constraint = x509.NameConstraints([x509.DNSName("example.org")], None)
    within = root.issue("authority", **INTERMEDIATE, extensions=((constraint, True),))
    client = within.issue("alice", extensions=((x509.SubjectAlternativeName([x509.DNSName(host)]), False),))
    return Shown([client.certificate, within.certificate], client.key)


def bad(root: Signer, rsa_root: Signer) -> dict[str, Shown]:
    """Every kind. ``root`` and ``rsa_root`` are trusted."""
    return {**_untrusted(root), **_unfit(root), **_weak(root, rsa_root), **_malformed(root)}


def _untrusted(root: Signer) -> dict[str, Shown]:
    def of(signer: Signer, *between: Signer) -> Shown:
        client = signer.issue("alice")
        return Shown([client.certificate, *(one.certificate for one in between)], client.key)

    common = root.subject.rfc4514_string().partition("=")[2]
    other, own = authority("another"), root.issue("alice")
    tampered = bytearray(own.certificate)
    tampered[-5] ^= 1
    renamed = own.certificate.replace(b"alice", b"admin")
    leaf, deep = root.issue("bob"), _chain(root, *[{}] * 9)
    shallow = _chain(root, {"path_length": 0}, {})
    unlisted = _chain(root, {})
    alone = self_signed("alice")
    return {
        "none": Shown([], own.key),
        "of another authority": of(other),
        "of another authority, which the client shows": of(other, other),
        "of another authority with the same name": of(authority(common)),
        "self-signed": Shown([alone.certificate], alone.key),
        "self-signed with the authority's name": Shown([(it := self_signed(common)).certificate], it.key),
        "the authority's own": Shown([root.certificate], root.key),
        "signed by a client": of(leaf, leaf),
        "below an authority that is not shown": Shown(unlisted.certificates[:1], unlisted.key),
        "below an authority that may not sign": _chain(
            root, {"extensions": ((key_usage(digital_signature=True, crl_sign=True), True),)}
        ),
        "below an authority that has expired": _chain(root, {"begins": NOW - 9 * DAY, "ends": NOW - DAY}),
        "below an authority for servers": _chain(
            root, {"usage": x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])}
        ),
        "a path longer than an authority allows": shallow,
        "a chain of ten authorities": deep,
        "a chain of a hundred authorities": _chain(root, *[{}] * 100),
        "with a signature that was changed": Shown([bytes(tampered)], own.key),
        "with a name that was changed": Shown([renamed], own.key),
        "with the key of another": Shown([own.certificate], other.key),
    }


def _unfit(root: Signer) -> dict[str, Shown]:
    def of(**given: Any) -> Shown:
        client = root.issue("alice", **given)
        return Shown([client.certificate], client.key)

    def usage(*kinds: x509.ObjectIdentifier) -> x509.ExtendedKeyUsage:
        return x509.ExtendedKeyUsage(kinds)

    unknown = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.99999.1"), b"\x05\x00")
    return {
        "expired": of(begins=NOW - 9 * DAY, ends=NOW - DAY),
        "not valid yet": of(begins=NOW + DAY, ends=NOW + 9 * DAY),
        "of a server": of(usage=usage(ExtendedKeyUsageOID.SERVER_AUTH)),
        "for mail": of(usage=usage(ExtendedKeyUsageOID.EMAIL_PROTECTION)),
        "for code": of(usage=usage(ExtendedKeyUsageOID.CODE_SIGNING)),
        "of an authority": of(**INTERMEDIATE),
        "with a critical extension that nobody knows": of(extensions=((unknown, True),)),
        "of a name that its authority may not sign": _named(root, "alice.example.com"),
        "that may not sign": of(extensions=((key_usage(key_agreement=True), True),)),
    }


def _weak(root: Signer, rsa_root: Signer) -> dict[str, Shown]:
    def of(**given: Any) -> Shown:
        client = root.issue("alice", **given)
        return Shown([client.certificate], client.key)

    content = Content(name("alice"))
    return {
        "with a key of RSA of 1,024 bits": of(key=rsa.generate_private_key(65537, 1024)),
        "with a key on a curve that TLS has not": of(key=ec.generate_private_key(ec.SECP256K1())),
        "with a key of DSA": of(key=dsa.generate_private_key(1024)),
        "with a key of Ed448": of(key=ed448.Ed448PrivateKey.generate()),
        "signed with SHA-1": Shown([_signed_again(content, rsa_root, 5, hashes.SHA1())], content.key),
        "signed with MD5": Shown([_signed_again(content, rsa_root, 4, hashes.MD5())], content.key),
    }


def _signed_again(content: Content, signer: Signer, algorithm: int, digest: hashes.HashAlgorithm) -> bytes:
    """The certificate with a signature of an old kind: 1.2.840.113549.1.1.``algorithm``."""
    kind = bytes.fromhex("06092a864886f70d0101")
    made = content.signed_by(signer).replace(kind + b"\x0b", kind + bytes([algorithm]))
    signed = x509.load_der_x509_certificate(made).tbs_certificate_bytes
    signature = signer.key.sign(signed, padding.PKCS1v15(), digest)
    return made[: -len(signature)] + bytes(signature)


def _malformed(root: Signer) -> dict[str, Shown]:
    own = root.issue("alice")
    huge = root.issue(
        "alice",
        extensions=((x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.9"), bytes(1 << 20)), False),),
    )
    basic = x509.BasicConstraints(ca=False, path_length=None).public_bytes()
    twice = root.issue(
        "alice", extensions=((x509.UnrecognizedExtension(x509.ObjectIdentifier("2.5.29.99"), basic), False),)
    )
    tbs = x509.load_der_x509_certificate(twice.certificate).tbs_certificate_bytes.replace(
        bytes.fromhex("0603551d63"), bytes.fromhex("0603551d13")
    )
    return {
        "empty": Shown([b""], own.key),
        "no DER": Shown([os.urandom(300)], own.key),
        "text": Shown([b"-----BEGIN CERTIFICATE-----\n"], own.key),
        "cut short": Shown([own.certificate[:-1]], own.key),
        "with bytes behind it": Shown([own.certificate + b"\0"], own.key),
        "of a megabyte": Shown([huge.certificate], huge.key),
        "with an extension twice": Shown([_sealed(tbs, root.key)], twice.key),
        "with a length that lies": Shown([own.certificate[:2] + b"\x7f\xff" + own.certificate[4:]], own.key),
        "a public key alone": Shown(
            [own.key.public_key().public_bytes(DER, serialization.PublicFormat.SubjectPublicKeyInfo)], own.key
        ),
    }


def _sealed(tbs: bytes, key: Any) -> bytes:
    """A certificate of these bytes, signed with ECDSA and SHA-256."""
    signature = b"\0" + key.sign(tbs, ec.ECDSA(hashes.SHA256()))
    content = tbs + bytes.fromhex("300a06082a8648ce3d040302") + b"\x03" + _length(len(signature)) + signature
    return bytes(b"\x30" + _length(len(content)) + content)


def _length(count: int) -> bytes:
    if count < 128:
        return bytes([count])
    digits = count.to_bytes((count.bit_length() + 7) // 8, "big")
    return bytes([0x80 | len(digits)]) + digits


# ---- the client


def _message(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + len(body).to_bytes(3, "big") + body


def _vector(size: int, content: bytes) -> bytes:
    return len(content).to_bytes(size, "big") + content


def _hello() -> bytes:
    extensions = [
        (10, _vector(2, struct.pack(">H", 23))),  # P-256
        (11, _vector(1, b"\0")),
        (13, _vector(2, struct.pack(">6H", ECDSA_SHA256, RSA_SHA256, 0x0804, 0x0805, 0x0503, 0x0201))),
        (23, b""),  # extended master secret
    ]
    told = b"".join(struct.pack(">H", number) + _vector(2, content) for number, content in extensions)
    suites = struct.pack(">2H", 0xC02B, 0xC02F)
    return _message(
        CLIENT_HELLO, b"\x03\x03" + os.urandom(32) + b"\0" + _vector(2, suites) + b"\x01\0" + _vector(2, told)
    )


def _proof(transcript: bytes, key: Any) -> bytes:
    """CertificateVerify by whatever the key can."""
    if isinstance(key, rsa.RSAPrivateKey):
        scheme, signature = RSA_SHA256, key.sign(transcript, padding.PKCS1v15(), hashes.SHA256())
    elif isinstance(key, ec.EllipticCurvePrivateKey):
        scheme, signature = ECDSA_SHA256, key.sign(transcript, ec.ECDSA(hashes.SHA256()))
    elif isinstance(key, dsa.DSAPrivateKey):
        scheme, signature = 0x0402, key.sign(transcript, hashes.SHA256())
    else:
        scheme, signature = 0x0808, key.sign(transcript)
    return _message(CERTIFICATE_VERIFY, struct.pack(">H", scheme) + _vector(2, signature))


def refuses(port: int, shown: Shown, within_s: float) -> bool:
    """Whether the broker ends the handshake of a client with this certificate."""
    certificates = b"".join(_vector(3, one) for one in shown.certificates)
    point = ec.generate_private_key(ec.SECP256R1()).public_key()
    x962 = serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        transcript = _hello()
        client.sendall(_records(transcript))
        transcript += _server_messages(client)
        answer = _message(CERTIFICATE, _vector(3, certificates))
        answer += _message(CLIENT_KEY_EXCHANGE, _vector(1, point.public_bytes(*x962)))
        if shown.certificates:
            answer += _proof(transcript + answer, shown.key)
        try:
            client.sendall(_records(answer))
            client.settimeout(within_s)
            return client.recv(1) in (b"", bytes([ALERT]))
        except TimeoutError:
            return False
        except ConnectionError:
            return True


def _records(messages: bytes) -> bytes:
    parts = [messages[at : at + RECORD_BYTES] for at in range(0, len(messages), RECORD_BYTES)]
    return b"".join(bytes([HANDSHAKE_RECORD, 3, 3]) + _vector(2, part) for part in parts)


def _server_messages(client: socket.socket) -> bytes:
    """Everything that the broker says until it waits for the client."""
    read: Callable[[int], bytes] = lambda count: client.recv(count, socket.MSG_WAITALL)  # noqa: E731
    messages = b""
    while not messages.endswith(bytes([SERVER_HELLO_DONE, 0, 0, 0])):
        kind, size = struct.unpack(">BxxH", read(5))
        assert kind == HANDSHAKE_RECORD, "the broker asked for no certificate"
        messages += read(size)
    return messages


def pem(*signers: Signer) -> bytes:
    loaded = (x509.load_der_x509_certificate(one.certificate) for one in signers)
    return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in loaded)
