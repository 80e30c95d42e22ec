"""The server's settings as one value, built once from flags and environment and passed down."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path

from millpond.model.address import is_loopback_host

DEFAULT_PORT = 8420


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Files in PEM: a certificate with those that vouch for it, and its private key."""

    cert: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Settings:
    """What `mill up` runs with. Every field but the first can be left alone on a laptop."""

    data_dir: Path
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    # None: SQLite in the data directory. Otherwise postgresql://user@host/database.
    database_url: str | None = None
    # None: a directory in the data directory. Otherwise s3://bucket/prefix?endpoint=…, gs://…, az://…
    lake_url: str | None = None
    # Where clients reach this server, when that is not http://host:port (a proxy, a host name).
    public_url: str | None = None
    # The second origin, where HTML and SVG of datasets are shown (docs/design/007). None: the port behind `port`, or
    # the next free one; and, for the URL, whatever host the page is reached by.
    content_port: int | None = None
    content_url: str | None = None
    # Where agents reach this very server, one of several that share a database (docs/design/011). None: the only one.
    advertised_url: str | None = None
    # Certificates that the server shows; none: it speaks plain HTTP.
    tls: Sequence[KeyPair] = ()
    # Of the names in the certificates, the one by which this machine reaches the server.
    tls_name: str | None = None
    # Whether browsers are told to come back with HTTPS alone.
    hsts: bool = True
    # Addresses and networks of the proxies that are believed, with commas between them.
    trusted_proxies: str = ""
    start_agent: bool = True
    # GPUs of this machine, declared; None: its agent asks the driver.
    gpus: int | None = None
    # Users that its jobs run as; None: as its agent chooses.
    job_uids: str | None = None
    # Where its agent lets those of other sites fetch what is cached here; None: nowhere.
    agent_listen: str | None = None
    max_body_bytes: int = 1 << 20
    max_digests_bytes: int = 16 << 20
    max_object_bytes: int = 64 << 20
    url_seconds: int = 900
    bin_days: int = 30
    # Where the commands of provisioners lie; None: `provisioners` in the data directory.
    provisioners_dir: Path | None = None
    # How long the checkpoint of a job that has ended is kept.
    checkpoint_days: int = 7
    # How long a job may run on without its agent hearing from the server; so long (and a little more) a job of a
    # silent compute waits before it is placed again.
    placement_seconds: int = 600
    # How often what nothing needs is removed from the lake; 0: only when somebody asks (`mill lake collect`).
    collect_seconds: float = 86_400.0
    # What makes a volume of another site near a compute: a link of at least this bandwidth, and no more latency.
    near_bits_per_second: int = 10 * 10**9
    near_latency_ms: float = 5.0
    # Where jobs run (docs/templates.md): what an hour of waiting for room, and for data, is worth in the currency of
    # prices; how long a job waits for a place that costs less; how near its data must be before it takes GPUs.
    wait_price: float = 1.0
    fill_price: float = 1.0
    locality_patience: float = 300.0
    data_lead: float = 10.0
    # Hosts and networks beside the public ones that imports may reach, with commas between them.
    import_hosts: str = ""
    # What seals credentials; None: `secret.key` in the data directory. Servers of one database share one key.
    secret_key_file: Path | None = None
    # Sign with another secret from now on, because the old one is lost with its key, or known to somebody.
    new_signing_secret: bool = False
    # Where the server keeps backups of itself, and how often it makes one (0: when asked), of which the newest stay.
    backup_to: str | None = None
    backup_seconds: float = 86_400.0
    backup_keep: int = 7
    # With the passphrase that encrypts them; None: they are not encrypted.
    backup_passphrase_file: Path | None = None
    # Where audit entries are sent as they happen: udp://…, tcp://… or unix:/…; None: nowhere.
    audit_syslog: str | None = None

    # Who scrapes /metrics sends this token, and hears of projects, too; None: anybody may, and hears of none.
    metrics_token_file: Path | None = None

    # How often one step of a flow may run over a list.
    max_fan_out: int = 2_000
    # How much of one log is kept: as much of its beginning as of its end.
    log_bytes: int = 2_000_000_000

    @property
    def database(self) -> str:
        return self.database_url or f"sqlite:///{self.data_dir / 'millpond.db'}"

    @property
    def lake(self) -> str:
        return self.lake_url or (self.data_dir / "lake").as_uri()

    @property
    def local_url(self) -> str:
        """Where this machine reaches the server; with the port that it listens on."""
        host = self.tls_name or {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)
        scheme = "https" if self.tls else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host and not host.startswith('[') else host}:{self.port}"

    @property
    def url(self) -> str:
        """Where others reach the server."""
        return self.public_url or self.local_url

    @property
    def is_https(self) -> bool:
        """True if those who come as they should come with HTTPS: by TLS of its own, or of a proxy."""
        return bool(self.tls) or (self.public_url or "").startswith("https:")

    @property
    def secret_key(self) -> Path:
        return self.secret_key_file or self.data_dir / "secret.key"

    @property
    def provisioners(self) -> Path:
        return self.provisioners_dir or self.data_dir / "provisioners"

    @property
    def tier_commands(self) -> Path:
        """Where programs lie that set the tiers of volumes."""
        return self.data_dir / "tiers"

    @property
    def components(self) -> Path:
        """Components of flows beside those that are installed, one folder each."""
        return self.data_dir / "components"

    @property
    def logs_dir(self) -> Path:
        return self.data_dir / "logs"


def is_open_without_tls(settings: Settings) -> bool:
    """True if others reach the server, and nothing says that a proxy keeps what they send private."""
    return not is_loopback_host(settings.host) and not settings.is_https


def default_data_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """`MILL_DATA_DIR`, or the platform's place for an application's data."""
    chosen = environ.get("MILL_DATA_DIR")
    return Path(chosen) if chosen else user_data_path("millpond")
