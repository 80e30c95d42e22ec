"""Units of systemd: what is in them, how words are quoted, and whose files are touched."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from millpond.client.service_install import ServiceChanges, carry_out, plan_install, remove
from millpond.client.service_units import ServiceKind, ServicePlan, environment_text, is_unchanged, unit_text
from millpond.errors import InUse, NotFound

UNITS = Path("/etc/systemd/system")


def plan(kind: ServiceKind = ServiceKind.SERVER, *arguments: str, account: str | None = "millpond") -> ServicePlan:
    state = Path("/var/lib/millpond" if kind is ServiceKind.SERVER else "/var/lib/millpond-agent")
    return ServicePlan(kind, Path("/opt/mill/bin/python"), arguments, account, Path(f"/etc/millpond/{kind}.env"), state)


def install(root: Path, one: ServicePlan, *, force: bool = False) -> ServiceChanges:
    changes = plan_install(one, UNITS, root=root, force=force)
    carry_out(changes, one.state)
    return changes


def test_a_server_may_write_its_own_directory_and_nothing_else() -> None:
    lines = unit_text(plan(ServiceKind.SERVER, "--port", "8420")).splitlines()
    for expected in (
        "User=millpond",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
        "StateDirectory=millpond",
        "EnvironmentFile=/etc/millpond/server.env",
        "Restart=always",
    ):
        assert expected in lines
    assert not any(line.startswith("ReadWritePaths") for line in lines)


def test_only_a_port_that_needs_it_brings_a_capability() -> None:
    assert "AmbientCapabilities=CAP_NET_BIND_SERVICE" in unit_text(plan(ServiceKind.SERVER, "--port=443"))
    assert "AmbientCapabilities=CAP_NET_BIND_SERVICE" not in unit_text(plan(ServiceKind.SERVER, "--port", "0"))


def test_jobs_live_on_when_their_agent_stops_and_see_its_mounts() -> None:
    text = unit_text(plan(ServiceKind.AGENT, account="root"))
    assert "KillMode=process" in text and "Delegate=yes" in text
    assert "CAP_SETUID" in text and "CAP_SYS_MODULE" not in text and "CAP_SYS_RAWIO" not in text
    for namespaced in ("ProtectSystem", "ProtectHome", "PrivateTmp", "PrivateDevices", "ReadWritePaths"):
        assert namespaced not in text, "an agent's own mount namespace would hide overlays from the next one"
    assert "CapabilityBoundingSet=\n" in unit_text(plan(ServiceKind.AGENT, account="mill"))


def test_units_of_a_user_ask_for_nothing_that_needs_root() -> None:
    text = unit_text(plan(account=None))
    assert "WantedBy=default.target" in text
    assert "User=" not in text and "Protect" not in text and "StateDirectory" not in text


def test_words_and_values_are_quoted_as_systemd_reads_them() -> None:
    text = unit_text(plan(ServiceKind.SERVER, "--lake", "/data/my lake", "--public-url", "https://x/50%", "$HOME"))
    assert '--lake "/data/my lake" --public-url https://x/50%% $$HOME\n' in text
    one = ServicePlan(
        ServiceKind.SERVER, Path("/p"), (), "m", Path("/e"), Path("/s"), variables={"MILL_DATABASE_URL": 'a"b$c\\d e'}
    )
    assert 'MILL_DATABASE_URL="a\\"b\\$c\\\\d e"\n' in environment_text(one)
    assert 'a"b' not in unit_text(one)


def test_installing_again_replaces_our_own_unit_and_keeps_settings(tmp_path: Path) -> None:
    install(tmp_path, plan())
    settings = tmp_path / "etc/millpond/server.env"
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    settings.write_text("MILL_LAKE_URL=s3://ours\n")
    changes = install(tmp_path, plan(ServiceKind.SERVER, "--port", "9000"))
    assert changes.kept == [settings] and settings.read_text() == "MILL_LAKE_URL=s3://ours\n"
    assert "--port 9000" in (tmp_path / "etc/systemd/system/millpond-server.service").read_text()


@pytest.mark.parametrize("foreign", [True, False], ids=["somebody else's", "changed by hand"])
def test_what_others_wrote_is_not_overwritten(tmp_path: Path, foreign: bool) -> None:
    unit = tmp_path / "etc/systemd/system/millpond-server.service"
    if foreign:
        unit.parent.mkdir(parents=True)
        unit.write_text("[Service]\nExecStart=/bin/true\n")
    else:
        install(tmp_path, plan())
        unit.write_text(unit.read_text() + "Nice=5\n")
    before = unit.read_text()
    assert is_unchanged(before) is (None if foreign else False)
    with pytest.raises(InUse, match="not written by" if foreign else "was changed"):
        install(tmp_path, plan())
    assert unit.read_text() == before
    if foreign:
        with pytest.raises(InUse):
            remove(plan(), UNITS, root=tmp_path)
    install(tmp_path, plan(), force=True)
    assert is_unchanged(unit.read_text())


def test_removing_keeps_settings(tmp_path: Path) -> None:
    install(tmp_path, plan())
    unit = remove(plan(), UNITS, root=tmp_path, dry_run=True)
    assert unit.exists()
    assert not remove(plan(), UNITS, root=tmp_path).exists()
    assert (tmp_path / "etc/millpond/server.env").exists()
    with pytest.raises(NotFound):
        remove(plan(), UNITS, root=tmp_path)
