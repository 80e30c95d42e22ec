"""`mill up`: the server on this machine, and what only somebody at this machine may do to it."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from millpond import app as server
from millpond.api.metrics.routes import read_token
from millpond.api.origins import origin_of
from millpond.cli.prompts import read_secret
from millpond.cli.up_network import checked_key_pairs, checked_proxies, trust_lines
from millpond.client.files import write_atomically
from millpond.client.servers import SavedLogins
from millpond.decide.allowed_addresses import Reach
from millpond.errors import BadRequest, SetupError
from millpond.log_lines import LOG_FORMAT, LogFormat, log_to_stderr
from millpond.memory import return_large_buffers
from millpond.model.quantity import DAY, parse_bandwidth, parse_bytes, parse_milliseconds, parse_seconds
from millpond.services.audits.receivers import Target
from millpond.services.backups.encryption import read_passphrase
from millpond.services.lake.reindex import Reindexed
from millpond.services.setup import InstalledAgent
from millpond.settings import DEFAULT_PORT, Settings, default_data_dir

LEAST_LOG_BYTES = 1_000_000
LEAST_BACKUP_SECONDS = 60

app = typer.Typer()

# A few times what an agent waits for an answer.
MIN_VALIDITY_SECONDS = 60

DataDir = Annotated[Path | None, typer.Option(help="Directory for all data of the server (MILL_DATA_DIR).")]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--db", metavar="URL", envvar="MILL_DATABASE_URL", help="postgresql://user@host/database, instead of SQLite."
    ),
]
LakeUrl = Annotated[
    str | None,
    typer.Option(
        "--lake",
        metavar="URL",
        envvar="MILL_LAKE_URL",
        help="Directory, s3://bucket/prefix?endpoint=…, gs://… or az://…",
    ),
]


@app.command("up")
def up(
    data_dir: DataDir = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help=f"Port (default: {DEFAULT_PORT}, or the next free one).", show_default=False
        ),
    ] = None,
    database_url: DatabaseUrl = None,
    lake_url: LakeUrl = None,
    public_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="URL that others use to reach this server, for example behind a proxy."),
    ] = None,
    content_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            envvar="MILL_CONTENT_PORT",
            help="Port that serves HTML and SVG of datasets, separate from the page (default: the port "
            "after --port, or the next free one).",
            show_default=False,
        ),
    ] = None,
    content_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="MILL_CONTENT_URL",
            help="URL of --content-port for browsers, behind a proxy: a separate host name. With `*` "
            "(https://*.apps.example.com), each port of a job gets its own, too.",
        ),
    ] = None,
    tls_cert: Annotated[
        list[Path] | None,
        typer.Option(
            envvar="MILL_TLS_CERT",
            help="Certificate (PEM, with its chain) to serve HTTPS with; read again when it changes. Repeat it, with "
            "its key, for another domain, like that of --content-url.",
            show_default=False,
        ),
    ] = None,
    tls_key: Annotated[
        list[Path] | None,
        typer.Option(envvar="MILL_TLS_KEY", help="Private key (PEM) of --tls-cert.", show_default=False),
    ] = None,
    hsts: Annotated[
        bool, typer.Option(envvar="MILL_HSTS", help="Tell browsers to use HTTPS alone for this host, on all its ports.")
    ] = True,
    trusted_proxies: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS,…",
            envvar="MILL_TRUSTED_PROXIES",
            help="Addresses and networks of reverse proxies whose X-Forwarded headers are believed, like 10.0.0.5,::1.",
        ),
    ] = "",
    advertised_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="MILL_ADVERTISED_URL",
            help="URL that agents use to reach this server, if it is one of several on one database (for "
            "terminals and ports of jobs).",
        ),
    ] = None,
    agent: Annotated[bool, typer.Option(help="Start an agent for this machine.")] = True,
    gpus: Annotated[
        int | None, typer.Option(min=0, help="Number of GPUs to offer, instead of asking the driver.")
    ] = None,
    job_uids: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST-LAST",
            envvar="MILL_JOB_UIDS",
            help="Users that jobs on this machine run as, one per project, if the server is root; `none`: as root.",
            show_default="70000-99999, or another if a second server uses it here",
        ),
    ] = None,
    agent_listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Let agents of other sites fetch what is cached here (`mill site set`)."
        ),
    ] = None,
    collect: Annotated[bool, typer.Option(help="Remove unreferenced data from the lake every day.")] = True,
    import_hosts: Annotated[
        str,
        typer.Option(
            metavar="HOST,…",
            envvar="MILL_IMPORT_HOSTS",
            help="Hosts and networks that imports may reach although they are not public, like files.lab,10.1.0.0/16.",
        ),
    ] = "",
    near: Annotated[
        str,
        typer.Option(
            metavar="SPEED",
            envvar="MILL_NEAR",
            help="Minimum bandwidth of a link over which volumes of another site serve a compute.",
        ),
    ] = "10Gbit/s",
    near_latency: Annotated[
        str, typer.Option(metavar="TIME", envvar="MILL_NEAR_LATENCY", help="Maximum latency of such a link.")
    ] = "5ms",
    wait_price: Annotated[
        float,
        typer.Option(
            min=0,
            envvar="MILL_WAIT_PRICE",
            help="What an hour of waiting for room is worth, in the currency of prices.",
        ),
    ] = 1.0,
    fill_price: Annotated[
        float,
        typer.Option(
            min=0, envvar="MILL_FILL_PRICE", help="What an hour of waiting for data is worth, in the same currency."
        ),
    ] = 1.0,
    locality_patience: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            envvar="MILL_LOCALITY_PATIENCE",
            help="How long a job waits for room at a place that costs less, like one near its data.",
        ),
    ] = "5m",
    data_lead: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            envvar="MILL_DATA_LEAD",
            help="A job takes GPUs when its data is expected within this time.",
        ),
    ] = "10s",
    log_limit: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            envvar="MILL_LOG_LIMIT",
            help="Maximum size of a job's log; the middle is dropped.",
        ),
    ] = "2GB",
    placement_validity: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            envvar="MILL_PLACEMENT_VALIDITY",
            help="How long jobs continue while their agent cannot reach the server. Then they end and are "
            "placed again.",
        ),
    ] = "10m",
    secret_key_file: Annotated[
        Path | None,
        typer.Option(
            envvar="MILL_SECRET_KEY_FILE",
            help="Key that encrypts secrets and credentials (default: secret.key in the data directory).",
        ),
    ] = None,
    new_signing_secret: Annotated[
        bool,
        typer.Option(
            "--new-signing-secret",
            help="Sign with a new secret from this start on, if the key file was lost or the old secret leaked. "
            "Links, tickets and tokens of jobs that wait stop working.",
        ),
    ] = False,
    provisioners: Annotated[
        Path | None,
        typer.Option(
            envvar="MILL_PROVISIONERS",
            help="Directory with the commands of provisioners (default: provisioners in the data directory).",
        ),
    ] = None,
    backup_to: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|URL",
            envvar="MILL_BACKUP_TO",
            help="Directory or s3://bucket/prefix where the server keeps backups of itself.",
        ),
    ] = None,
    backup_every: Annotated[
        str,
        typer.Option(
            metavar="TIME", envvar="MILL_BACKUP_EVERY", help="How often it makes a backup; `never`: only when asked."
        ),
    ] = "1d",
    backup_keep: Annotated[
        int, typer.Option(min=1, envvar="MILL_BACKUP_KEEP", help="Number of newest backups to keep.")
    ] = 7,
    backup_passphrase_file: Annotated[
        Path | None,
        typer.Option(envvar="MILL_BACKUP_PASSPHRASE_FILE", help="File with the passphrase that encrypts backups."),
    ] = None,
    metrics_token_file: Annotated[
        Path | None,
        typer.Option(
            envvar="MILL_METRICS_TOKEN_FILE",
            help="File with the token that /metrics asks for (default: none; metrics of projects are left out).",
        ),
    ] = None,
    audit_syslog: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="MILL_AUDIT_SYSLOG",
            help="Syslog receiver of audit entries as they happen: udp://HOST:514, tcp://HOST:601 or unix:/dev/log.",
        ),
    ] = None,
    admin_password_file: Annotated[
        Path | None, typer.Option(help="File with the password of the first administrator.")
    ] = None,
    log_format: Annotated[
        LogFormat, typer.Option(envvar=LOG_FORMAT, help="Lines of the log on stderr: text, or JSON for programs.")
    ] = LogFormat.TEXT,
    join_token_file: Annotated[
        Path | None,
        typer.Option(
            envvar="MILL_JOIN_TOKEN_FILE",
            help="File with a join token for one agent that is installed along with this server. It can join again.",
        ),
    ] = None,
    join_site: Annotated[
        str, typer.Option(envvar="MILL_JOIN_SITE", help="Site of that agent; created if it is missing.")
    ] = "cluster",
    join_volume: Annotated[
        str | None,
        typer.Option(envvar="MILL_JOIN_VOLUME", metavar="PATH", help="Directory of its volume, as the agent sees it."),
    ] = None,
) -> None:
    """Start the server, the web page and an agent for this machine. Runs until Ctrl-C.

    Example: mill up --data-dir /srv/millpond --host 0.0.0.0
    """
    _log_to_stderr(log_format)
    return_large_buffers()
    settings = Settings(
        data_dir=_data_dir(data_dir),
        host=host,
        port=DEFAULT_PORT if port is None else port,
        database_url=database_url,
        lake_url=lake_url,
        public_url=public_url,
        content_port=content_port,
        content_url=checked_content_url(content_url, public_url),
        advertised_url=advertised_url.rstrip("/") if advertised_url else None,
        tls=checked_key_pairs(tls_cert, tls_key),
        hsts=hsts,
        trusted_proxies=checked_proxies(trusted_proxies),
        start_agent=agent,
        gpus=gpus,
        job_uids=job_uids,
        agent_listen=agent_listen,
        collect_seconds=DAY if collect else 0,
        import_hosts=checked_import_hosts(import_hosts),
        near_bits_per_second=parse_bandwidth(near),
        near_latency_ms=parse_milliseconds(near_latency),
        wait_price=wait_price,
        fill_price=fill_price,
        locality_patience=parse_seconds(locality_patience),
        data_lead=parse_seconds(data_lead),
        placement_seconds=checked_validity(placement_validity),
        log_bytes=checked_log_limit(log_limit),
        secret_key_file=secret_key_file,
        new_signing_secret=new_signing_secret,
        provisioners_dir=provisioners,
        backup_to=backup_to,
        backup_seconds=checked_backup_interval(backup_every),
        backup_keep=backup_keep,
        backup_passphrase_file=backup_passphrase_file,
        metrics_token_file=metrics_token_file,
        audit_syslog=str(Target.parse(audit_syslog)) if audit_syslog else None,
    )
    if metrics_token_file is not None:
        read_token(metrics_token_file)
    if backup_passphrase_file is not None:
        read_passphrase(backup_passphrase_file)  # refused now rather than at night
    installed_agent = None
    if join_token_file is not None:
        installed_agent = InstalledAgent(read_secret(join_token_file, "join token"), join_site, join_volume)
    password = admin_password(admin_password_file)
    server.serve(
        settings,
        port_is_fixed=port is not None,
        admin_password=password,
        installed_agent=installed_agent,
        on_ready=_tell,
    )


def checked_validity(written: str) -> int:
    """Long enough for an agent that waits for an answer to hear of the server in time."""
    seconds = int(parse_seconds(written))
    if seconds < MIN_VALIDITY_SECONDS:
        raise SetupError(
            f"--placement-validity must be at least {MIN_VALIDITY_SECONDS}s, not {written}.",
            hint=f"For example: --placement-validity {MIN_VALIDITY_SECONDS}s",
        )
    return seconds


def checked_backup_interval(written: str) -> float:
    """Seconds; 0 for `never`. SetupError for an interval in which no backup would be done."""
    seconds = 0.0 if written == "never" else float(parse_seconds(written))
    if written != "never" and seconds < LEAST_BACKUP_SECONDS:
        raise SetupError(
            f"--backup-every must be at least {LEAST_BACKUP_SECONDS}s, not {written}.",
            hint="For example: --backup-every 6h",
        )
    return seconds


def checked_content_url(url: str | None, public_url: str | None) -> str | None:
    """`url` itself, if browsers keep what it shows apart from the page. SetupError says what is wrong otherwise."""
    if url is None:
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise SetupError(f"{url!r} is not an origin.", hint="Give scheme and host, like https://content.example.com.")
    if "*" in url and not (parts.hostname.startswith("*.") and url.count("*") == 1):
        raise SetupError(f"{url!r} has its * in the wrong place.", hint="Write it like https://*.apps.example.com")
    if public_url is not None and origin_of(public_url) == origin_of(url):
        raise SetupError(
            "--content-url and --public-url must be different origins.",
            hint="Use a separate host name for content, best under another domain.",
        )
    return url


def checked_log_limit(text: str) -> int:
    """Bytes. SetupError for a limit that would keep nothing worth reading."""
    most = parse_bytes(text)
    if most < LEAST_LOG_BYTES:
        raise SetupError(f"--log-limit must be at least 1MB, not {text}.", hint="For example: --log-limit 100MB")
    return most


def checked_import_hosts(text: str) -> str:
    """`text` itself, if it lists hosts and networks. SetupError otherwise."""
    try:
        Reach.parse(text)
    except ValueError as error:
        raise SetupError(f"--import-hosts is invalid: {error}.") from error
    return text


def admin_password(file: Path | None, environ: Mapping[str, str] = os.environ) -> str | None:
    """The first administrator's password from the file, MILL_ADMIN_PASSWORD_FILE or MILL_ADMIN_PASSWORD."""
    named = file or (Path(environ["MILL_ADMIN_PASSWORD_FILE"]) if environ.get("MILL_ADMIN_PASSWORD_FILE") else None)
    if named is not None:
        return read_secret(named, "password")
    return environ.get("MILL_ADMIN_PASSWORD") or None


def reset_password(name: str, password: str, *, data_dir: Path | None = None, database_url: str | None = None) -> None:
    """Set a user's password in the database of this machine's server, which may be running."""
    server.reset_password(Settings(data_dir=_data_dir(data_dir), database_url=database_url), name, password)


def set_local_login_here(*, on: bool, data_dir: Path | None = None, database_url: str | None = None) -> None:
    """Let people sign in with passwords of this machine's server, which may be running, or no longer."""
    server.set_local_login(Settings(data_dir=_data_dir(data_dir), database_url=database_url), on=on)


def take_over_lake(
    *, data_dir: Path | None = None, database_url: str | None = None, lake_url: str | None = None
) -> str | None:
    """Make this machine's server the owner of the lake; the database that owned it before."""
    settings = Settings(data_dir=_data_dir(data_dir), database_url=database_url, lake_url=lake_url)
    return server.take_over_lake(settings)


def reindex_lake(
    *, data_dir: Path | None = None, database_url: str | None = None, lake_url: str | None = None
) -> Reindexed:
    """Fill this machine's empty database from the lake."""
    return server.reindex_lake(Settings(data_dir=_data_dir(data_dir), database_url=database_url, lake_url=lake_url))


def server_settings(
    data_dir: Path | None,
    database_url: str | None,
    lake_url: str | None,
    secret_key_file: Path | None,
    *,
    ambient: bool = True,
) -> Settings:
    """The settings of a server on this machine, as far as what is done without it needs them."""
    if not ambient and data_dir is None:
        raise BadRequest("Name the new data directory, for keys and files: --data-dir DIR")
    return Settings(
        data_dir=_data_dir(data_dir), database_url=database_url, lake_url=lake_url, secret_key_file=secret_key_file
    )


def _tell(ready: server.Ready) -> None:
    lines = [f"Millpond is ready at {ready.url}"]
    if ready.port_was_taken:
        lines.append(f"(port {DEFAULT_PORT} is in use)")
    if ready.database_copy is not None:
        lines.append(f"The database was upgraded; the previous version was copied to {ready.database_copy}")
    if ready.password is not None:
        lines.append(f"Sign in as admin with {_password(ready.password, ready.data_dir)}")
    if ready.unattended:
        commands = {"compute": "mill compute detach local", "volume": "mill volume rm local"}
        lines.append(
            f"Without an agent here, nobody looks after the {' and '.join(ready.unattended)} `local` of an earlier "
            f"start. Remove what is not needed: {', '.join(commands[one] for one in ready.unattended)}"
        )
    lines += trust_lines(ready)
    lines += current_server_lines(ready.known_servers, ready.local_url)
    lines.append(f"Data in {ready.data_dir}. Stop with Ctrl-C.")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def current_server_lines(known: SavedLogins | None, url: str) -> list[str]:
    """Whether commands on this machine use the server that was started, and how to make them."""
    if known is None:
        return []
    if known.current == url:
        return [f"Commands on this machine use it (current server: {known.name_of(url)})"]
    current = known.current or ""
    return [
        f"Your current server stays {known.name_of(current) or 'the one at'} ({current})",
        f"Use this one: mill server use {known.name_of(url)}   (once: mill --server {known.name_of(url)} COMMAND)",
    ]


def _password(password: str, folder: Path) -> str:
    """The first password, for a terminal. What is not one may be a log that others read: then it goes into a file."""
    if sys.stdout.isatty():
        return f"the password {password} (shown this once; change it on the page)"
    file = folder / "admin-password"
    write_atomically(file, password.encode() + b"\n", mode=0o600)
    return f"the password in {file} (change it on the page, then delete the file)"


def _data_dir(chosen: Path | None) -> Path:
    return (chosen or default_data_dir()).absolute()


def _log_to_stderr(form: LogFormat) -> None:
    log_to_stderr(form)
    os.environ[LOG_FORMAT] = form.value  # its agent writes as it does
    for name in ("uvicorn", "alembic", "httpx"):
        logging.getLogger(name).setLevel(logging.WARNING)
