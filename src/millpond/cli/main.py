"""`mill`: the table of its commands, and what happens when one of them fails."""

from __future__ import annotations

import gc
import inspect
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer

from millpond import __version__, tracing
from millpond.cli.command import common_parameters, sign
from millpond.cli.lazy import Entry, LazyGroup
from millpond.cli.report import report, use_color
from millpond.errors import BadRequest, Invalid, MillError

INTERRUPTED = 130
BROKEN_PIPE = 141

_DATA, _WORK, _PLACES, _PEOPLE, _SERVER = "Data", "Work", "Places", "People", "Server and this machine"

ENTRIES = (
    Entry(
        "data",
        "millpond.cli.data",
        "Manage datasets: sync, clone, diff, branch, restore.",
        _DATA,
        quick={
            "sync": "millpond.cli.data_sync",
            "status": "millpond.cli.data_status",
            "diff": "millpond.cli.data_status",
            "clone": "millpond.cli.data_clone",
            "checkout": "millpond.cli.data_checkout",
        },
    ),
    Entry(
        "cache",
        "millpond.cli.cache",
        "Keep commits as plain files next to the compute.",
        _DATA,
        quick={"add": "millpond.cli.cache_add"},
    ),
    Entry(
        "connection",
        "millpond.cli.connection",
        "Manage connections to buckets and web servers that you import from.",
        _DATA,
    ),
    Entry("mirror", "millpond.cli.mirror", "Mirror datasets and workspaces to buckets and other sites.", _DATA),
    Entry("source", "millpond.cli.source", "Manage scheduled imports into datasets.", _DATA),
    Entry(
        "move",
        "millpond.cli.move",
        "Move the files that differ between a bucket and a workspace, a mount or a commit, as a job.",
        _DATA,
        verb=True,
    ),
    Entry("submit", "millpond.cli.submit", "Run a command as a job, next to its data.", _WORK, verb=True),
    Entry("submit-mpi", "millpond.cli.submit", "Run an MPI program", _WORK, verb=True),
    Entry("list", "millpond.cli.job_list", "List jobs, newest first.", _WORK, verb=True),
    Entry("get", "millpond.cli.jobs", "Show one job.", _WORK, verb=True),
    Entry("describe", "millpond.cli.jobs", "Show one job with its reasons and events.", _WORK, verb=True),
    Entry("attempts", "millpond.cli.jobs", "List the attempts to run a job.", _WORK, verb=True),
    Entry("events", "millpond.cli.jobs", "List what happened to a job.", _WORK, verb=True),
    Entry("spec", "millpond.cli.jobs", "Print a job as a task file, to submit it again.", _WORK, verb=True),
    Entry("top", "millpond.cli.top", "Show nodes and running jobs with their GPUs, CPUs and memory.", _WORK, verb=True),
    Entry("logs", "millpond.cli.logs", "Print the log of a job.", _WORK, verb=True),
    Entry("why", "millpond.cli.jobs", "Say why a job is in the state it is in.", _WORK, verb=True),
    Entry("pending", "millpond.cli.scheduling", "List the jobs that wait, the next one first.", _WORK, verb=True),
    Entry("plan", "millpond.cli.scheduling", "Replay jobs with other quotas, settings or nodes.", _WORK, verb=True),
    Entry("wait", "millpond.cli.jobs", "Wait until jobs have ended.", _WORK, verb=True),
    Entry("bash", "millpond.cli.streams", "Open a shell in a running job.", _WORK, verb=True),
    Entry("exec", "millpond.cli.streams", "Run a command next to a running job.", _WORK, verb=True),
    Entry("port-forward", "millpond.cli.streams", "Forward a local port to a running job.", _WORK, verb=True),
    Entry(
        "ssh-config",
        "millpond.cli.ssh",
        "Print entries for ~/.ssh/config to reach workspaces and jobs.",
        _WORK,
        verb=True,
    ),
    Entry("ssh-proxy", "millpond.cli.ssh", "Connect ssh to a job, as its ProxyCommand.", _WORK, verb=True),
    Entry("stop", "millpond.cli.jobs", "Stop jobs and keep everything they made.", _WORK, verb=True),
    Entry("suspend", "millpond.cli.jobs", "Suspend jobs until they are resumed.", _WORK, verb=True),
    Entry("resume", "millpond.cli.jobs", "Resume suspended jobs.", _WORK, verb=True),
    Entry("delete", "millpond.cli.jobs", "Move jobs and their runs to the bin, for 30 days.", _WORK, verb=True),
    Entry("undelete", "millpond.cli.jobs", "Restore jobs and their runs from the bin.", _WORK, verb=True),
    Entry("flow", "millpond.cli.flow", "Check, save and run flows: graphs of steps.", _WORK),
    Entry("library", "millpond.cli.library", "Use, test and add components for flows.", _WORK),
    Entry("secret", "millpond.cli.secret", "Manage secrets that jobs receive as environment variables.", _WORK),
    Entry("run", "millpond.cli.run", "Show runs: parameters, metrics and artifacts of jobs and scripts.", _WORK),
    Entry(
        "rerun",
        "millpond.cli.rerun",
        "Make a run again from its recorded code, data, environment and command.",
        _WORK,
        verb=True,
    ),
    Entry("search", "millpond.cli.search", "Search for the best hyperparameters of a job.", _WORK),
    Entry("model", "millpond.cli.model", "Register models, and compare, name and download their versions.", _WORK),
    Entry("cluster", "millpond.cli.cluster", "Run Dask and Ray: clusters that jobs use.", _WORK),
    Entry("endpoint", "millpond.cli.endpoint", "Serve models: create, change and watch endpoints.", _WORK),
    Entry("edge", "millpond.cli.edge", "Push versions of models to sites, and see which each serves.", _WORK),
    Entry("serve", "millpond.cli.serve", "Serve models from this machine.", _WORK, verb=True),
    Entry("perf", "millpond.cli.perf", "Measure model servers the MLPerf way.", _WORK),
    Entry(
        "workspace",
        "millpond.cli.workspace",
        "Manage workspaces: writable trees with snapshots and clones.",
        _WORK,
        quick={
            "create": "millpond.cli.workspace_create",
            "clone": "millpond.cli.workspace_create",
            "snapshot": "millpond.cli.workspace_snapshots",
            "snapshots": "millpond.cli.workspace_snapshots",
            "restore": "millpond.cli.workspace_snapshots",
        },
    ),
    Entry(
        "dataops", "millpond.cli.dataops", "Run a command of NetApp's DataOps Toolkit on workspaces.", _WORK, verb=True
    ),
    Entry("volume", "millpond.cli.volume", "Manage volumes: directories that hold cached commits.", _PLACES),
    Entry("mount", "millpond.cli.mount", "Manage mounts: directories that jobs may mount.", _PLACES),
    Entry("tier", "millpond.cli.tier", "Manage tiers: classes of service of volumes.", _PLACES),
    Entry("site", "millpond.cli.site", "Manage sites: places with volumes and computes.", _PLACES),
    Entry("link", "millpond.cli.link", "Manage network links between sites, and between a site and the lake.", _PLACES),
    Entry(
        "topology",
        "millpond.cli.topology",
        "Show sites with their volumes, computes and links.",
        _PLACES,
        verb=True,
    ),
    Entry("egress", "millpond.cli.egress", "Show what fills brought over links, and set budgets for it.", _PLACES),
    Entry("compute", "millpond.cli.compute", "Manage computes: the machines and clusters that run jobs.", _PLACES),
    Entry("elastic", "millpond.cli.elastic", "Manage elastic computes: machines created on demand.", _PLACES),
    Entry("template", "millpond.cli.template", "Manage templates: named sizes that jobs run on.", _PLACES),
    Entry("queue", "millpond.cli.queue", "Manage queues: templates that jobs try in turn.", _PLACES),
    Entry("project", "millpond.cli.project", "Manage projects and their members.", _PEOPLE),
    Entry("user", "millpond.cli.user", "Manage users and service accounts.", _PEOPLE),
    Entry("token", "millpond.cli.token", "Manage your API tokens.", _PEOPLE),
    Entry("session", "millpond.cli.sessions", "List and end the sessions of browsers.", _PEOPLE),
    Entry("auth", "millpond.cli.auth", "Set up single sign-on: providers, and what groups give.", _PEOPLE),
    Entry("notification", "millpond.cli.notification", "Show your notifications, and choose where they go.", _PEOPLE),
    Entry("activity", "millpond.cli.activity", "Show recent activity.", _PEOPLE, verb=True),
    Entry("audit", "millpond.cli.audit", "Show, search and export the audit log.", _PEOPLE),
    Entry("server", "millpond.cli.server", "Manage the servers you have signed in to.", _PEOPLE),
    Entry("login", "millpond.cli.account", "Sign in to a server and make it the current one.", _PEOPLE, verb=True),
    Entry("logout", "millpond.cli.account", "Revoke your token and forget the server.", _PEOPLE, verb=True),
    Entry("whoami", "millpond.cli.account", "Show your user, server, project and roles.", _PEOPLE, verb=True),
    Entry("find", "millpond.cli.find", "Find anything by name or id.", _SERVER, verb=True),
    Entry(
        "up",
        "millpond.cli.up",
        "Start the server, the web page and an agent for this machine.",
        _SERVER,
        verb=True,
    ),
    Entry("lake", "millpond.cli.lake", "Maintain the lake: the object store that holds all commits.", _SERVER),
    Entry("backup", "millpond.cli.backup", "Back up the server: create, list, verify, restore.", _SERVER),
    Entry("agent", "millpond.cli.agent", "Run an agent: it fills volumes and runs jobs at a site.", _SERVER, verb=True),
    Entry("service", "millpond.cli.service", "Run a server or an agent as a service of systemd.", _SERVER),
    Entry("mcp", "millpond.cli.mcp", "Serve Millpond's verbs as tools to a coding assistant.", _SERVER, verb=True),
    Entry(
        "support-bundle",
        "millpond.cli.support_bundle",
        "Save what support needs to see of the server, without secrets.",
        _SERVER,
        verb=True,
    ),
    Entry("doctor", "millpond.cli.doctor", "Check this machine and the server, and suggest fixes.", _SERVER, verb=True),
    Entry("docs", "millpond.cli.docs", "Open the documentation of the server.", _SERVER, verb=True),
    Entry("version", "millpond.cli.account", "Show the versions of client and server.", _SERVER, verb=True),
)


_NAMES = frozenset(entry.name for entry in ENTRIES)


class MillGroup(LazyGroup):
    # A build for clients alone may leave the server's own commands out.
    entries = tuple(entry for entry in ENTRIES if entry.is_present)
    elsewhere = {"cancel": "Stop a job and keep what it made: mill stop JOB", "ps": "List jobs: mill list"}


app = typer.Typer(
    cls=MillGroup,
    name="mill",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mill {__version__}")
        raise typer.Exit


def _root(*, version: bool, **common: object) -> None:
    """Keep datasets next to the compute, run jobs where the data is, and track every result."""


sign(
    _root,
    [
        inspect.Parameter(
            "version",
            inspect.Parameter.KEYWORD_ONLY,
            default=False,
            annotation=Annotated[
                bool,
                typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
            ],
        ),
        *common_parameters(),
    ],
)
app.callback(epilog="Help for a command: mill COMMAND --help")(_root)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Without `arguments`, use sys.argv and expect the process to end."""
    if arguments is not None:
        return _run(list(arguments))
    # What is loaded stays, so cycles are looked for only from then on (Entry.load), and not at the end: that took a
    # tenth of a second.
    gc.disable()
    try:
        return _run(sys.argv[1:])
    finally:
        gc.freeze()


@contextmanager
def _traced(argv: Sequence[str]) -> Iterator[None]:
    """The command as a span, where its environment says where to send traces. Servers and agents have their own."""
    if argv[:1] in (["up"], ["agent"]) or not tracing.start(tracing.COMMAND):
        yield
        return
    try:
        # What is given to a command stays out: it may be anything.
        name = " ".join(["mill", *(word for word in argv[:1] if word in _NAMES)])
        with tracing.span(name, parent=tracing.inherited()):
            yield
    finally:
        tracing.stop()


def _run(argv: Sequence[str]) -> int:
    """Run one command, print any error, and return the exit code."""
    try:
        with _traced(argv):
            result = app(args=argv, prog_name="mill", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except MillError as error:
        report(error, as_json=_wants_json(argv), color=use_color(sys.stderr))
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; Python must not try to flush the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the edge of the program: a person sees words, not a traceback
        return _unexpected(error, argv)


def _unexpected(error: Exception, argv: Sequence[str]) -> int:
    # Typer's usage errors carry their own code and words, and have no public base class.
    format_message = getattr(error, "format_message", None)
    if format_message is not None:
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "mill"
        usage = BadRequest(format_message() or "Wrong usage.", hint=f"See: {path} --help")
        report(usage, as_json=_wants_json(argv), color=use_color(sys.stderr))
        return int(getattr(error, "exit_code", usage.exit_code))
    mistake = _mistake_in_request(error)
    if mistake is not None:
        report(mistake, as_json=_wants_json(argv), color=use_color(sys.stderr))
        return mistake.exit_code
    if "--debug" in argv:
        traceback.print_exc(file=sys.stderr)
    hint = "Add --debug for a traceback, and please report it." if "--debug" not in argv else None
    words = f"Unexpected error: {type(error).__name__}: {error}"
    report(MillError(words, hint=hint), as_json=_wants_json(argv), color=use_color(sys.stderr))
    return MillError.exit_code


def _mistake_in_request(error: Exception) -> Invalid | None:
    """The error for invalid arguments, in the words of the server."""
    # Arguments are bytes; what of them is not UTF-8 stands for itself until it has to be sent.
    if "surrogates not allowed" in str(error):
        return Invalid("An argument is not valid UTF-8.")
    # Loaded by now if a request was made; importing pydantic would cost every other command a tenth of a second.
    pydantic, wire = sys.modules.get("pydantic"), sys.modules.get("millpond.wire.base")
    if pydantic is None or wire is None or not isinstance(error, pydantic.ValidationError):
        return None
    if error.title not in {request.__name__ for request in wire.Request.__subclasses__()}:
        return None
    told = "; ".join(f"{wire.written_path(item['loc'])}: {item['msg']}" for item in error.errors())
    return Invalid(f"Invalid request: {told}.")


def _wants_json(argv: Sequence[str]) -> bool:
    own = argv[: argv.index("--")] if "--" in argv else argv
    return "--json" in own
