"""Finding the API server, inside a cluster and outside; and what is told to the driver."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path
from typing import Any

import certifi
import httpx
import pytest

from millpond.agent.drivers import EngineAway
from millpond.agent.drivers.kubernetes.access import Access, find_access
from millpond.agent.drivers.kubernetes.api import KubeApi, Refused
from millpond.agent.drivers.kubernetes.options import KubernetesOptions
from millpond.agent.drivers.options import checked, parse_options
from millpond.errors import BadRequest, SetupError


def a_config(path: Path, user: dict[str, Any], server: str = "http://127.0.0.1:1") -> Path:
    path.write_text(
        json.dumps(
            {
                "current-context": "here",
                "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "jobs"}}],
                "clusters": [{"name": "c", "cluster": {"server": server}}],
                "users": [{"name": "u", "user": user}],
            }
        )
    )
    return path


def test_outside_by_a_kubeconfig(tmp_path: Path) -> None:
    found = find_access(a_config(tmp_path / "config", {"token": "t"}), None, environ={})
    assert (found.url, found.namespace, found.token()) == ("http://127.0.0.1:1", "jobs", "t")
    by_variable = find_access(None, None, environ={"KUBECONFIG": str(tmp_path / "config")})
    assert by_variable.url == found.url


def test_inside_by_the_account_of_the_agents_pod(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("mounted\n")
    (tmp_path / "namespace").write_text("millpond")
    shutil.copyfile(certifi.where(), tmp_path / "ca.crt")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    found = find_access(None, None, environ=environ, account=tmp_path)
    assert (found.url, found.namespace, found.token()) == ("https://[fd00::1]:6443", "millpond", "mounted")
    named = find_access(a_config(tmp_path / "config", {"token": "t"}), None, environ=environ, account=tmp_path)
    assert named.url == "http://127.0.0.1:1", "what was named counts more"


def test_a_credential_plugin_is_asked(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    plugin.write_text(f'#!/bin/sh\necho asked >> {tmp_path}/times\necho \'{{"status": {{"token": "fresh"}}}}\'\n')
    plugin.chmod(stat.S_IRWXU)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "args": ["x"]}}
    found = find_access(a_config(tmp_path / "config", user), None, environ={})
    assert (found.token(), found.token()) == ("fresh", "fresh")
    assert (tmp_path / "times").read_text() == "asked\n", "a token is kept while it holds"
    plugin.write_text("#!/bin/sh\nexit 1\n")
    again = find_access(tmp_path / "config", None, environ={})
    with pytest.raises(EngineAway, match="returned no token"):
        again.token()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "is not a kubeconfig"),
        ("{}", "lacks 'current-context'"),
        ("{current-context: x}", "lacks \"'x' among its"),
    ],
)
def test_a_kubeconfig_that_lacks_something_says_what(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(SetupError, match=words):
        find_access(tmp_path / "config", None, environ={})
    with pytest.raises(SetupError, match="Cannot read"):
        find_access(tmp_path / "none", None, environ={})


def answering(*answers: httpx.Response) -> KubeApi:
    waiting = list(answers)
    access = Access("http://127.0.0.1:1", tls=False, token=lambda: "t", namespace="default")
    return KubeApi(access, httpx.MockTransport(lambda request: waiting.pop(0)))


def test_a_list_is_read_to_its_end() -> None:
    first = httpx.Response(200, json={"metadata": {"continue": "more"}, "items": [{"a": 1}]})
    last = httpx.Response(200, json={"metadata": {}, "items": [{"a": 2}]})
    assert answering(first, last).list("/api/v1/pods") == [{"a": 1}, {"a": 2}]


def test_what_is_there_already_and_what_is_gone_are_success() -> None:
    assert answering(httpx.Response(409, json={"message": "exists"})).create("/jobs", {}) is False
    answering(httpx.Response(404, json={"message": "not found"})).delete("/jobs/x")


@pytest.mark.parametrize("status", [401, 429, 500, 503])
def test_what_passes_is_no_refusal(status: int) -> None:
    with pytest.raises(EngineAway):
        answering(httpx.Response(status, json={"message": "later"})).create("/jobs", {})


def test_a_refusal_comes_with_the_servers_words() -> None:
    with pytest.raises(Refused, match="exceeded quota"):
        answering(httpx.Response(403, json={"message": "exceeded quota"})).create("/jobs", {})


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (["mount=/m=host"], "Invalid option image of driver kubernetes"),
        (["image=x", "mount=m"], "is not a mount; write it like /srv/mill=pvc:CLAIM"),
        (["image=x", "mount=/m=disk:x"], "a path is on pvc:CLAIM"),
        (["image=x", "mount=/m=host", "colour=red"], "has no option 'colour'"),
        (["image"], "is not an option"),
    ],
)
def test_what_was_told_wrongly_is_said(pairs: list[str], words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        checked(KubernetesOptions, parse_options(pairs), "kubernetes")


def test_options_of_the_command_line() -> None:
    pairs = ["image=x", "mount=/m=host", "mount=/n=pvc:c", "pull-secret=s", "runtime-class=nvidia"]
    told = checked(KubernetesOptions, parse_options(pairs), "kubernetes")
    assert [str(source.path) for source in told.sources] == ["/m", "/n"]
    assert (told.pull_secret, told.runtime_class) == (["s"], "nvidia")
