"""The key and certificate by which the agents of other sites know this one.

Nobody signs it: the server passes its fingerprint on to those who may connect, and they accept no other.
"""

from __future__ import annotations

import hashlib
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from millpond.agent.spec import write_private

FILE = "peer.pem"
# It is pinned, never checked by date; clocks of sites may differ by hours.
_VALID = timedelta(days=36500)


@dataclass(frozen=True, slots=True)
class PeerIdentity:
    """`file` holds key and certificate; the fingerprint is the SHA-256 of the certificate."""

    file: Path
    fingerprint: str


def load_identity(state_dir: Path) -> PeerIdentity:
    """This agent's identity, made at the first call."""
    file = state_dir / FILE
    if not file.exists():
        write_private(file, _made().decode())
    certificate = x509.load_pem_x509_certificate(file.read_bytes())
    return PeerIdentity(file, hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest())


def serving_context(identity: PeerIdentity) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(identity.file)
    return context


def calling_context() -> ssl.SSLContext:
    """For connections whose certificate is compared with a fingerprint right after the handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def fingerprint_of(connection: ssl.SSLSocket) -> str:
    return hashlib.sha256(connection.getpeercert(binary_form=True) or b"").hexdigest()


def _made() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "millpond agent")]), datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _VALID)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return secret + certificate.public_bytes(Encoding.PEM)
