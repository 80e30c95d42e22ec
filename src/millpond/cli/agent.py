"""`mill agent`: the process at a site that fills volumes and runs jobs."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import socket
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from millpond import __version__, tracing
from millpond.agent.agent import Agent, Tools
from millpond.agent.checkpoint import Checkpoints
from millpond.agent.compute_test import run_trial
from millpond.agent.credential import Wish, load, obtain, set_aside
from millpond.agent.drivers import Driver
from millpond.agent.drivers.choose import AgentMachine, open_driver
from millpond.agent.drivers.options import parse_options
from millpond.agent.facts import Declared, node_facts
from millpond.agent.isolation import DEFAULT, Accounts, Isolation, claim, detect, safely
from millpond.agent.keeper.processes import identity, is_running
from millpond.agent.lake import (
    PATIENCE_SECONDS,
    fetch_code,
    fetch_source,
    keep_snapshot,
    open_source,
    read_rows,
    restore_checkpoint,
    save_checkpoint,
    save_outputs,
    saves_itself,
)
from millpond.agent.server import Server
from millpond.agent.state import locked_state
from millpond.agent.store_probes import probe_stores
from millpond.agent.stream import open_tunnel
from millpond.agent.workspaces import WorkspaceLake
from millpond.cli.prompts import read_secret
from millpond.client.http import Api
from millpond.errors import BadRequest, MillError, NotSignedIn
from millpond.log_lines import LOG_FORMAT, LogFormat, log_to_stderr
from millpond.memory import return_large_buffers
from millpond.model.address import HostPort
from millpond.model.quantity import parse_bytes
from millpond.plugins import BUILT_IN, DRIVERS
from millpond.settings import default_data_dir
from millpond.trust import CA_FILE

app = typer.Typer()
log = logging.getLogger("millpond.agent")

PARENT_SECONDS = 0.5


@app.command("agent")
def agent(
    server: Annotated[str, typer.Option(metavar="URL", help="URL of the server.", envvar="MILL_SERVER")],
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with a join token, needed at the first start only; - reads stdin.", show_default=False),
    ] = None,
    site: Annotated[str | None, typer.Option(help="Site of this agent.", show_default="the join token's")] = None,
    node: Annotated[
        str | None, typer.Option(help="Name of this machine and its compute.", show_default="its host name")
    ] = None,
    state_dir: Annotated[
        Path | None, typer.Option(help="Local directory for jobs and the agent's own files.", show_default=False)
    ] = None,
    driver: Annotated[
        str, typer.Option(help=f"How jobs run: {', '.join(BUILT_IN[DRIVERS])}, or a plug-in's.")
    ] = "process",
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="KEY=VALUE", help="Option for the driver. Repeatable."),
    ] = None,
    cpus: Annotated[int | None, typer.Option(min=1, help="Number of CPUs to offer, instead of counting them.")] = None,
    memory: Annotated[str | None, typer.Option(help="Memory to offer, like 64GB, instead of measuring it.")] = None,
    gpus: Annotated[
        int | None, typer.Option(min=0, help="Number of GPUs to offer, instead of asking the driver.")
    ] = None,
    gpu_type: Annotated[
        str | None, typer.Option(metavar="TYPE", help="Type of the GPUs, like A100, instead of asking the driver.")
    ] = None,
    gpu_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory of each GPU, like 40GB, instead of asking the driver.")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Label of this node. Repeatable.")
    ] = None,
    ca_file: Annotated[
        Path | None,
        typer.Option(
            help="Certificates (PEM) to trust in addition to the system's.", envvar=CA_FILE, show_default=False
        ),
    ] = None,
    job_uids: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST-LAST",
            envvar="MILL_JOB_UIDS",
            help="Users that jobs run as, one per project, if the agent is root; the same range for all "
            "agents of a volume. `none`: jobs run as the agent's user.",
            show_default="70000-99999, or another if a second server uses it here",
        ),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Let agents of other sites fetch cached commits here, over TLS. Set the address that they use with "
            "`mill site set SITE --address`.",
        ),
    ] = None,
    serving_address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST",
            envvar="MILL_SERVING_ADDRESS",
            help="Name or address under which routers of endpoints on other machines of the site reach replicas here.",
            show_default="that of the interface towards the server",
        ),
    ] = None,
    log_format: Annotated[
        LogFormat, typer.Option(envvar=LOG_FORMAT, help="Lines of the log on stderr: text, or JSON for programs.")
    ] = LogFormat.TEXT,
    parent_pid: Annotated[int | None, typer.Option(help="Exit when this process exits.")] = None,
) -> None:
    """Run an agent: it fills volumes and runs jobs at a site. `mill up` starts one for its own machine.

    The agent only makes outgoing connections (HTTPS_PROXY, ALL_PROXY and NO_PROXY apply). Jobs outlive it. At its first
    start it exchanges a join token (`mill compute token`) for its own credential, which it keeps in its state
    directory.

    Example: mill agent --server https://lab.example.org --token-file join-token --site lab
    """
    return_large_buffers()
    log_to_stderr(log_format)
    tracing.start("millpond-agent")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    if ca_file is not None:
        os.environ[CA_FILE] = str(ca_file.absolute())  # jobs report to the same server
    declared = Declared(
        cpus=cpus,
        memory_bytes=parse_bytes(memory) if memory else None,
        gpus=gpus,
        gpu_type=gpu_type or None,
        gpu_memory_bytes=parse_bytes(gpu_memory) if gpu_memory else None,
    )
    at = _listen_address(listen)
    facts = node_facts(node or socket.gethostname(), declared, _labels(label or []))
    directory = (state_dir or default_data_dir() / "agent").absolute()
    accounts = _accounts(job_uids, directory, server)
    isolation = detect(directory, accounts, engine_shows_own=driver == "kubernetes")
    runner = open_driver(driver, AgentMachine(facts, directory, isolation), parse_options(option or []))
    wish = Wish(_compute_name(facts.name), node is not None, site, runner.name, __version__)
    with locked_state(directory):
        log.info("agent %s starts: node=%s cpus=%d gpus=%d", __version__, facts.name, facts.cpus, facts.gpus)
        try:
            token = _token(directory, token_file)
            with Api(server, patience=PATIENCE_SECONDS) as api:
                credential = obtain(directory, token, wish, api)
        except MillError as error:
            log.error("the agent cannot start: %s %s", error.message, error.hint or "")
            _leave(error.exit_code)
        code = asyncio.run(
            _serve(
                directory,
                runner,
                isolation,
                server=server,
                token=credential.secret,
                listen=at,
                serving_address=_host(serving_address),
                parent=parent_pid,
            )
        )
        _leave(code)


def _accounts(job_uids: str | None, state_dir: Path, server: str) -> Accounts | None:
    """The users that jobs run as. Only root can become others, and so has to claim them."""
    if job_uids == "none":
        return None
    if job_uids is not None or os.geteuid() != 0:
        return Accounts.parse(job_uids or DEFAULT)
    return claim(state_dir, server.rstrip("/"))


async def _serve(
    state_dir: Path,
    driver: Driver,
    isolation: Isolation,
    *,
    server: str,
    token: str,
    listen: HostPort | None,
    serving_address: str | None,
    parent: int | None,
) -> int:
    """Run the agent until a signal, or until the parent has gone; the exit code."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    watching = asyncio.create_task(_watch_parent(parent, stop)) if parent else None
    api = Api(server, token, patience=PATIENCE_SECONDS)
    tools = Tools(
        server=Server(server, token),
        driver=driver,
        source_of=partial(open_source, api),
        save_outputs=safely(save_outputs),
        fetch_code=partial(fetch_code, server),
        checkpoints=Checkpoints(partial(restore_checkpoint, server), safely(save_checkpoint), saves_itself),
        run_trial=partial(run_trial, api),
        probe_stores=partial(probe_stores, api),
        isolation=isolation,
        workspace_lake=WorkspaceLake(
            partial(fetch_source, server), partial(keep_snapshot, server), partial(read_rows, server)
        ),
        open_tunnel=partial(open_tunnel, server, token),
        listen=listen,
        serving_address=serving_address,
    )
    try:
        await Agent(state_dir, tools).run(stop)
    except MillError as error:
        log.error("the server refused this agent: %s %s", error.message, error.hint or "")
        if isinstance(error, NotSignedIn):
            set_aside(state_dir)
        return error.exit_code
    finally:
        if watching is not None:
            watching.cancel()
    log.info("agent stops; jobs continue under their keepers")
    return 0


async def _watch_parent(parent_pid: int, stop: asyncio.Event) -> None:
    """By pid and start time: another process may get the number."""
    parent = identity(parent_pid)
    while is_running(parent):
        await asyncio.sleep(PARENT_SECONDS)
    log.warning("process %d, which started this agent, has exited", parent_pid)
    stop.set()


def _listen_address(text: str | None) -> HostPort | None:
    try:
        return None if text is None else HostPort.parse(text)
    except ValueError as error:
        raise BadRequest(f"--listen {error}", hint="Write it like 0.0.0.0:8425.") from error


def _host(text: str | None) -> str | None:
    if text and not re.fullmatch(r"[A-Za-z0-9.:_-]{1,253}", text):
        raise BadRequest(f"--serving-address {text!r} is not a host.", hint="Write it like 10.0.0.7 or gpu-7.lab.")
    return text or None


def _token(state_dir: Path, token_file: Path | None) -> str | None:
    """What the file holds. It may be gone once the agent has a credential: a join token is used once."""
    if token_file is None or (load(state_dir) is not None and not token_file.exists()):
        return None
    return read_secret(token_file, "token")


def _compute_name(node: str) -> str:
    """A machine may be called what no compute can: capitals, underscores in front."""
    return re.sub(r"[^a-z0-9._-]+", "-", node.lower()).strip("._-")[:63].replace("..", ".") or "compute"


def _labels(pairs: list[str]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair[1:]:
            raise BadRequest(f"{pair!r} is not a label.", hint="Write it as KEY=VALUE, like --label rack=7.")
    return {key: value for key, _, value in (pair.partition("=") for pair in pairs)}


def _leave(code: int) -> NoReturn:
    """End now, as a kill would: a thread in the middle of a fill must not hold the agent, and the volume allows it."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
