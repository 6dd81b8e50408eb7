"""Certificates for tests: an authority, what it signs, and what nobody should accept."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import NamedTuple

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)


class Pair(NamedTuple):
    """Files of one end, PEM: certificate chain, private key, both in one file."""

    chain: Path
    key: Path
    both: Path


class Authority:
    """Signs certificates; its own is ``ca``. Files go to ``folder``."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.trusted = trustme.CA()
        self.ca = folder / "ca.pem"
        self.trusted.cert_pem.write_to_path(str(self.ca))
        self._key = serialization.load_pem_private_key(self.trusted.private_key_pem.bytes(), None)
        self._certificate = x509.load_pem_x509_certificate(self.trusted.cert_pem.bytes())

    def server(self, *hosts: str, name: str = "server", **given: object) -> Pair:
        """A certificate for these hosts, localhost and 127.0.0.1 without any."""
        issued = self.trusted.issue_cert(*(hosts or ("localhost", "127.0.0.1")), **given)  # type: ignore[arg-type]
        chain = b"".join(part.bytes() for part in issued.cert_chain_pems)
        key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
        return self._write(name, chain, _pem(key))  # type: ignore[arg-type]

    def client(
        self,
        subject: str,
        name: str = "client",
        *,
        begins: dt.datetime | None = None,
        ends: dt.datetime | None = None,
        usage: x509.ObjectIdentifier = ExtendedKeyUsageOID.CLIENT_AUTH,
        is_self_signed: bool = False,
        key: PrivateKey | None = None,
    ) -> Pair:
        """A certificate for a client with a name of RFC 4514, as in ``CN=alice,O=Example``."""
        key = key or ec.generate_private_key(ec.SECP256R1())
        own = x509.Name.from_rfc4514_string(subject)
        signer = key if is_self_signed else self._key
        made = (
            x509.CertificateBuilder()
            .subject_name(own)
            .issuer_name(own if is_self_signed else self._certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins or NOW - DAY)
            .not_valid_after(ends or NOW + 30 * DAY)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .sign(signer, hashes.SHA256())  # type: ignore[arg-type]
        )
        return self._write(name, made.public_bytes(serialization.Encoding.PEM), _pem(key))

    def revoke(self, *revoked: Pair) -> Path:
        """A list of revoked certificates with these."""
        builder = x509.CertificateRevocationListBuilder().issuer_name(self._certificate.subject)
        builder = builder.last_update(NOW - DAY).next_update(NOW + 30 * DAY)
        for pair in revoked:
            number = x509.load_pem_x509_certificate(pair.chain.read_bytes()).serial_number
            one = x509.RevokedCertificateBuilder().serial_number(number).revocation_date(NOW - DAY).build()
            builder = builder.add_revoked_certificate(one)
        path = self.folder / "revoked.pem"
        builder = builder.add_extension(x509.CRLNumber(1), critical=False)
        signed = builder.sign(self._key, hashes.SHA256())  # type: ignore[arg-type]
        path.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        return path

    def _write(self, name: str, chain: bytes, key: bytes) -> Pair:
        pair = Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key", self.folder / f"{name}.pem")
        pair.chain.write_bytes(chain)
        pair.key.write_bytes(key)
        pair.both.write_bytes(key + chain)
        return pair


def pkcs12(pair: Pair, password: str) -> Path:
    """The pair as a PKCS#12 store beside it."""
    from cryptography.hazmat.primitives.serialization import pkcs12 as store

    key = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    chain = x509.load_pem_x509_certificates(pair.chain.read_bytes())
    encryption = serialization.BestAvailableEncryption(password.encode())
    path = pair.both.with_suffix(".p12")
    made = store.serialize_key_and_certificates(
        b"broker",
        key,  # type: ignore[arg-type]
        chain[0],
        chain[1:],
        encryption,
    )
    path.write_bytes(made)
    return path


def encrypted_key(pair: Pair, password: str) -> Path:
    """The pair in one PEM file, its key encrypted (PKCS#8)."""
    key = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    encryption = serialization.BestAvailableEncryption(password.encode())
    path = pair.both.with_suffix(".encrypted.pem")
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path.write_bytes(key.private_bytes(*form, encryption) + pair.chain.read_bytes())
    return path


def _pem(key: PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
