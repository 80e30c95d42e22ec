"""How the API server is reached: from inside the cluster by the service account, from outside by a kubeconfig."""

from __future__ import annotations

import base64
import json
import os
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from millpond.agent.drivers import EngineAway
from millpond.errors import SetupError

# A mounted token is replaced by the kubelet long before it expires; it is read again this often.
TOKEN_SECONDS = 60.0
EXEC_SECONDS = 30.0
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Access:
    """`token` gives the bearer token of the moment; None where a client certificate speaks for the agent."""

    url: str
    tls: ssl.SSLContext | bool
    token: Callable[[], str | None]
    namespace: str


def find_access(
    kubeconfig: Path | None, context: str | None, environ: Mapping[str, str] = os.environ, account: Path = _ACCOUNT
) -> Access:
    """The kubeconfig that was named; else the service account of the agent's own pod; else the user's kubeconfig."""
    if kubeconfig is None and context is None and "KUBERNETES_SERVICE_HOST" in environ and (account / "token").exists():
        return inside(environ, account)
    named = kubeconfig or Path(environ.get("KUBECONFIG", "").split(os.pathsep)[0] or "~/.kube/config")
    return outside(named.expanduser(), context)


def inside(environ: Mapping[str, str], account: Path) -> Access:
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    host = f"[{host}]" if ":" in host else host
    tls = ssl.create_default_context(cafile=str(account / "ca.crt"))
    namespace = (account / "namespace").read_text().strip()
    return Access(f"https://{host}:{port}", tls, _remembered(_from_file(account / "token")), namespace)


def outside(path: Path, context: str | None) -> Access:
    config = _load(path)
    try:
        name = context or config["current-context"]
        chosen = _named(config, "contexts", name)["context"]
        cluster = _named(config, "clusters", chosen["cluster"])["cluster"]
        user = _named(config, "users", chosen["user"])["user"]
        tls = _tls(cluster, user, path.parent)
        return Access(cluster["server"].rstrip("/"), tls, _token(user, path.parent), chosen.get("namespace", "default"))
    except (KeyError, TypeError) as error:
        raise SetupError(f"The kubeconfig {path} lacks {error}.", hint="Try: kubectl config view --minify") from error
    except (OSError, ValueError) as error:
        raise SetupError(f"Cannot use the kubeconfig {path}: {error}.") from error


def _load(path: Path) -> dict[str, Any]:
    # An extra: inside a cluster it is not needed.
    try:
        import yaml  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise SetupError(
            "Reading a kubeconfig needs PyYAML.", hint="Run: pip install 'millpond[kubernetes]'"
        ) from error
    try:
        found = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        hint = "Name one with --option kubeconfig=FILE, or run the agent in the cluster (deploy/kubernetes)."
        raise SetupError(f"Cannot read the kubeconfig {path}: {error}.", hint=hint) from error
    if not isinstance(found, dict):
        raise SetupError(f"{path} is not a kubeconfig.")
    return found


def _named(config: Mapping[str, Any], kind: str, name: str) -> Mapping[str, Any]:
    for one in config.get(kind) or ():
        if one["name"] == name:
            found: Mapping[str, Any] = one
            return found
    raise KeyError(f"{name!r} among its {kind}")


def _tls(cluster: Mapping[str, Any], user: Mapping[str, Any], folder: Path) -> ssl.SSLContext | bool:
    if not cluster["server"].startswith("https:"):
        return False
    authority = _content(cluster, "certificate-authority", folder)
    context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate, key = (_content(user, name, folder) for name in ("client-certificate", "client-key"))
    if certificate and key:
        # Python takes them from a file only; it is readable by this account alone, and gone at once.
        with tempfile.NamedTemporaryFile() as file:
            file.write(certificate + b"\n" + key)
            file.flush()
            context.load_cert_chain(file.name)
    return context


def _content(section: Mapping[str, Any], name: str, folder: Path) -> bytes | None:
    if f"{name}-data" in section:
        return base64.b64decode(section[f"{name}-data"])
    return (folder / section[name]).read_bytes() if name in section else None


def _token(user: Mapping[str, Any], folder: Path) -> Callable[[], str | None]:
    if "token" in user:
        return lambda: str(user["token"])
    if "tokenFile" in user:
        return _remembered(_from_file(folder / user["tokenFile"]))
    if "exec" in user:
        return _remembered(lambda: _from_program(user["exec"]))
    return lambda: None


def _from_file(path: Path) -> Callable[[], tuple[str, float]]:
    return lambda: (path.read_text().strip(), time.time() + TOKEN_SECONDS)


def _from_program(plugin: Mapping[str, Any]) -> tuple[str, float]:
    """Ask a credential plugin (client.authentication.k8s.io); the token and until when it holds."""
    command = [plugin["command"], *(plugin.get("args") or ())]
    told = {"apiVersion": plugin["apiVersion"], "kind": "ExecCredential", "spec": {"interactive": False}}
    environ = {**os.environ, **{pair["name"]: pair["value"] for pair in plugin.get("env") or ()}}
    environ["KUBERNETES_EXEC_INFO"] = json.dumps(told)
    try:
        done = subprocess.run(command, env=environ, capture_output=True, check=True, timeout=EXEC_SECONDS)
        status = json.loads(done.stdout)["status"]
        until = status.get("expirationTimestamp")
        ends = datetime.fromisoformat(until).timestamp() - TOKEN_SECONDS if until else time.time() + TOKEN_SECONDS
        return status["token"], ends
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise EngineAway(f"the credential plugin {plugin['command']} returned no token: {error}") from error


def _remembered(ask: Callable[[], tuple[str, float]]) -> Callable[[], str]:
    known: list[tuple[str, float]] = []

    def token() -> str:
        if not known or time.time() >= known[0][1]:
            known[:] = [ask()]
        return known[0][0]

    return token
