"""The certificates of one Dask cluster: an authority of its own that signs three, and is then forgotten."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# Longer than any cluster is kept; a new one has new certificates.
VALID = datetime.timedelta(days=3650)
# Clocks of machines differ.
_EARLIER = datetime.timedelta(days=1)
_BOTH_WAYS = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])


@dataclass(frozen=True, slots=True)
class Certificate:
    """In PEM."""

    cert: str
    key: str


def make_certificates(
    cluster_id: str, roles: tuple[str, ...], now: datetime.datetime
) -> tuple[str, dict[str, Certificate]]:
    """The authority's certificate, and one for each role. Its key is kept nowhere: nobody signs another one."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority_name = _name(f"Millpond cluster {cluster_id}")
    authority = (
        _begun(authority_name, authority_name, authority_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    found: dict[str, Certificate] = {}
    for role in roles:
        key = ec.generate_private_key(ec.SECP256R1())
        cert = (
            _begun(_name(role), authority_name, key.public_key(), now)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(_BOTH_WAYS, critical=False)
            .sign(authority_key, hashes.SHA256())
        )
        found[role] = Certificate(_pem(cert), _key_pem(key))
    return _pem(authority), found


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + VALID)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs, key_cert_sign=signs, crl_sign=False, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _pem(cert: x509.Certificate) -> str:
    return cert.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
