"""The text of systemd units for a server and for an agent: as little as each needs, and nothing more.

A server is hardened as far as systemd can. An agent that is root has no mount namespace of its own: what it mounts for
workspaces must be seen by the jobs that outlive it, and by the agent that follows it. It keeps the few capabilities it
needs to run jobs as other users; jobs get none of them (`docs/design/010-isolation.md`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

MARK = "# Written by `mill service install`, sha256="
_LEAST_PORT = 1024


class ServiceKind(StrEnum):
    SERVER = "server"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """`python` runs Millpond; `arguments` go to `mill up` or `mill agent`; `account` is None for the caller's own."""

    kind: ServiceKind
    python: Path
    arguments: Sequence[str]
    account: str | None
    environment_file: Path
    state: Path
    # Directories outside of `state` that a server writes, like a lake.
    writable: Sequence[Path] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"millpond-{self.kind}.service"

    @property
    def is_root(self) -> bool:
        return self.account == "root"

    @property
    def command(self) -> Sequence[str]:
        """What the unit starts."""
        own = ["up", "--no-agent", "--data-dir"] if self.kind is ServiceKind.SERVER else ["agent", "--state-dir"]
        return [str(self.python), "-m", "millpond", *own, str(self.state), *self.arguments]


def unit_text(plan: ServicePlan) -> str:
    lines = [*_unit(plan), "", *_service(plan), "", *_install(plan)]
    body = "\n".join(lines) + "\n"
    return f"{MARK}{sha256(body.encode()).hexdigest()}\n{body}"


def is_unchanged(text: str) -> bool | None:
    """True if nobody has changed what was written; None if it was written by somebody else."""
    first, _, body = text.partition("\n")
    if not first.startswith(MARK):
        return None
    return first.removeprefix(MARK).strip() == sha256(body.encode()).hexdigest()


def environment_text(plan: ServicePlan) -> str:
    """Settings that are nobody's business: only root reads them, systemd hands them over."""
    names = {
        ServiceKind.SERVER: "MILL_DATABASE_URL, MILL_LAKE_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, HTTPS_PROXY",
        ServiceKind.AGENT: "MILL_SERVER, MILL_CA_FILE, HTTPS_PROXY",
    }
    head = f"# Settings of millpond-{plan.kind}, one NAME=value each, like {names[plan.kind]}.\n"
    return head + "".join(f"{name}={_quoted_value(value)}\n" for name, value in plan.variables.items())


def _unit(plan: ServicePlan) -> list[str]:
    what = "server and page" if plan.kind is ServiceKind.SERVER else "agent: fills volumes and runs jobs"
    return ["[Unit]", f"Description=Millpond {what}", "After=network-online.target", "Wants=network-online.target"]


def _service(plan: ServicePlan) -> list[str]:
    lines = [
        "[Service]",
        "Type=exec",
        f"EnvironmentFile={plan.environment_file}",
        "Environment=PYTHONUNBUFFERED=1",
        f"ExecStart={' '.join(map(_quoted, plan.command))}",
        "Restart=always",
        "RestartSec=2",
        "TimeoutStopSec=30",
        "LimitNOFILE=65536",
        "NoNewPrivileges=yes",
    ]
    if plan.account is not None:
        mode = "0711" if plan.kind is ServiceKind.AGENT else "0700"
        lines += [
            f"User={plan.account}",
            f"StateDirectory={plan.state.name}",
            f"StateDirectoryMode={mode}",
            "WorkingDirectory=%S/" + plan.state.name,
            "Environment=MILL_HOME=%S/" + plan.state.name + "/home",
        ]
    return lines + (_server(plan) if plan.kind is ServiceKind.SERVER else _agent(plan))


def _server(plan: ServicePlan) -> list[str]:
    if plan.account is None:
        return ["UMask=0077"]  # the rest needs root
    binds_low = any(0 < port < _LEAST_PORT for port in _ports(plan.arguments))
    capabilities = "CAP_NET_BIND_SERVICE" if binds_low else ""
    return [
        "UMask=0077",
        f"CapabilityBoundingSet={capabilities}",
        f"AmbientCapabilities={capabilities}",
        "ProtectSystem=strict",
        *(f"ReadWritePaths={_quoted(str(path))}" for path in plan.writable),
        f"ProtectHome={'read-only' if _is_in_home(plan.python) else 'yes'}",
        "PrivateTmp=yes",
        "PrivateDevices=yes",
        "ProtectClock=yes",
        "ProtectControlGroups=yes",
        "ProtectHostname=yes",
        "ProtectKernelLogs=yes",
        "ProtectKernelModules=yes",
        "ProtectKernelTunables=yes",
        "ProtectProc=invisible",
        "RemoveIPC=yes",
        "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
        "RestrictNamespaces=yes",
        "RestrictRealtime=yes",
        "RestrictSUIDSGID=yes",
        "LockPersonality=yes",
        "SystemCallArchitectures=native",
        "SystemCallFilter=@system-service",
        "SystemCallErrorNumber=EPERM",
    ]


def _agent(plan: ServicePlan) -> list[str]:
    # Jobs live on when the agent stops: the next one takes them over. They get control groups of their own.
    lines = ["KillMode=process", "Delegate=yes", "TasksMax=infinity"]
    if plan.account is None:
        return lines
    if plan.is_root:
        return [*lines, f"CapabilityBoundingSet={' '.join(AGENT_CAPABILITIES)}"]
    return [*lines, "CapabilityBoundingSet=", "AmbientCapabilities="]


# What an agent that is root needs: to own files of jobs, to become their users, to end them, to count their memory, to
# mount what they may see, and to let them bind.
AGENT_CAPABILITIES = (
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_DAC_READ_SEARCH",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_MKNOD",
    "CAP_NET_ADMIN",
    "CAP_NET_BIND_SERVICE",
    "CAP_SETFCAP",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_ADMIN",
    "CAP_SYS_CHROOT",
    "CAP_SYS_NICE",
    "CAP_SYS_PTRACE",
    "CAP_SYS_RESOURCE",
)


def _install(plan: ServicePlan) -> list[str]:
    return ["[Install]", f"WantedBy={'default' if plan.account is None else 'multi-user'}.target"]


def _ports(arguments: Sequence[str]) -> list[int]:
    """Those that the server is told to listen on."""
    text = " ".join(arguments)
    return [int(found) for found in re.findall(r"--(?:content-)?port[= ](\d+)", text)]


def _is_in_home(path: Path) -> bool:
    return any(one.parts[1:2] in (("home",), ("root",)) for one in (path, path.resolve()))


def _quoted(word: str) -> str:
    """One word of a command line of systemd: `%` and `$` mean something there, spaces separate."""
    escaped = word.replace("\\", "\\\\").replace("%", "%%").replace("$", "$$").replace('"', '\\"')
    return f'"{escaped}"' if re.search(r"[\s\"';\\]", word) or not word else escaped


def _quoted_value(value: str) -> str:
    """A value of an environment file, in quotes: systemd takes away backslashes before these."""
    return '"' + re.sub(r'([\\"$`])', r"\\\1", value) + '"'
