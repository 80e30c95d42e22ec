"""A real directory for tests: Debian's slapd on ports of this machine, with people, groups and groups of groups."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from millpond.testing.daemons import end, free_port
from millpond.testing.waiting import wait_until

SLAPD = Path("/usr/sbin/slapd")
BASE = "dc=lab,dc=example"
ADMIN_DN, ADMIN_PASSWORD = f"cn=admin,{BASE}", "directory admin"
PASSWORD = "open sesame"
_READY_SECONDS = 30.0

# Zoe's name holds what has a meaning in filters.
_PEOPLE = f"""
dn: {BASE}
objectClass: dcObject
objectClass: organization
o: Lab
dc: lab

dn: ou=people,{BASE}
objectClass: organizationalUnit
ou: people

dn: ou=groups,{BASE}
objectClass: organizationalUnit
ou: groups

dn: uid=ada,ou=people,{BASE}
objectClass: inetOrgPerson
uid: ada
cn: Ada Lovelace
sn: Lovelace
mail: ada@lab.example
userPassword: {PASSWORD}

dn: uid=z\\2Aoe (x),ou=people,{BASE}
objectClass: inetOrgPerson
uid: z*oe (x)
cn: Zoe
sn: Zoe
userPassword: {PASSWORD}

dn: cn=vision,ou=groups,{BASE}
objectClass: groupOfNames
cn: vision
member: uid=ada,ou=people,{BASE}

dn: cn=research,ou=groups,{BASE}
objectClass: groupOfNames
cn: research
member: cn=vision,ou=groups,{BASE}
"""


@dataclass
class Slapd:
    port: int
    tls_port: int
    # Of the authority that signed its certificate.
    ca: Path
    _process: subprocess.Popen[bytes] = field(repr=False)

    @property
    def url(self) -> str:
        return f"ldap://127.0.0.1:{self.port}"

    @property
    def tls_url(self) -> str:
        return f"ldaps://127.0.0.1:{self.tls_port}"

    def stop(self) -> None:
        end(self._process)


def why_not() -> str | None:
    """Why it cannot run here; None if it can."""
    if not SLAPD.exists() or shutil.which("ldapadd") is None:
        return "slapd is not installed (apt-get install slapd ldap-utils)"
    return None


@contextmanager
def running_slapd(directory: Path) -> Iterator[Slapd]:
    """A directory that takes StartTLS and ldaps; it ends with the block."""
    port, tls_port = free_port(), free_port()
    certificate, key = _certificate(directory)
    (directory / "db").mkdir()
    config = directory / "slapd.conf"
    schemas = "\n".join(f"include /etc/ldap/schema/{name}.schema" for name in ("core", "cosine", "inetorgperson"))
    config.write_text(
        f"{schemas}\nmodulepath /usr/lib/ldap\nmoduleload back_mdb\npidfile {directory / 'slapd.pid'}\n"
        f"TLSCACertificateFile {certificate}\nTLSCertificateFile {certificate}\nTLSCertificateKeyFile {key}\n"
        f'database mdb\nmaxsize 104857600\nsuffix "{BASE}"\nrootdn "{ADMIN_DN}"\nrootpw "{ADMIN_PASSWORD}"\n'
        f"directory {directory / 'db'}\n"
    )
    urls = f"ldap://127.0.0.1:{port}/ ldaps://127.0.0.1:{tls_port}/"
    with (directory / "slapd.log").open("wb") as log:
        process = subprocess.Popen([SLAPD, "-f", config, "-h", urls, "-d", "0"], stdout=log, stderr=log)
    slapd = Slapd(port, tls_port, certificate, process)
    try:
        add = ["ldapadd", "-x", "-H", slapd.url, "-D", ADMIN_DN, "-w", ADMIN_PASSWORD]

        def is_filled() -> bool:
            assert process.poll() is None, f"slapd ended by itself:\n{(directory / 'slapd.log').read_text()}"
            done = subprocess.run(add, input=_PEOPLE.encode(), capture_output=True, check=False)
            # 68: an entry is there already.
            assert done.returncode in (0, 255, 68), done.stderr.decode()
            return done.returncode != 255

        wait_until(is_filled, within=_READY_SECONDS, what="slapd's readiness")
        yield slapd
    finally:
        slapd.stop()


def _certificate(directory: Path) -> tuple[Path, Path]:
    """Signed by itself, for this machine."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = directory / "slapd.crt", directory / "slapd.key"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    ssl.create_default_context(cafile=str(files[0]))
    return files
