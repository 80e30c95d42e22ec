"""`millpond.mirror("x-ray", "s3://archive/x-ray", every="1h")`: keep a dataset or workspace the same elsewhere."""

from __future__ import annotations

from millpond.client.credentials import resolve_target
from millpond.client.http import Api
from millpond.client.mirrors import (
    change_mirror,
    create_mirror,
    delete_mirror,
    get_mirror,
    list_mirrors,
    plan_mirror,
    run_mirror,
    wait_for_run,
)
from millpond.errors import NotReady
from millpond.model.quantity import parse_seconds
from millpond.wire import mirrors as wire


def mirror(
    source: str,
    target: str,
    *,
    every: str = "1h",
    label: str | None = None,
    name: str | None = None,
    connection: str | None = None,
    volume: str | None = None,
    server: str | None = None,
    project: str | None = None,
) -> Mirror:
    """Mirror a branch (`x-ray@main`), a workspace (`lab`) or its snapshots (`label="daily"`) to `s3://bucket/prefix`
    or to another site, now and again `every` so often. Only differences are sent; nothing of others is overwritten.
    """
    ends = resolve_target(server, project)
    api = Api(ends.server, ends.token)
    asked = wire.MirrorCreate(
        source=source, target=target, name=name, label=label or "", connection=connection, volume=volume,
        every_seconds=parse_seconds(every),
    )  # fmt: skip
    return Mirror._known(api, create_mirror(api, ends.project, asked))


def mirrors(*, server: str | None = None, project: str | None = None) -> list[Mirror]:
    """All mirrors of the project."""
    ends = resolve_target(server, project)
    api = Api(ends.server, ends.token)
    return [Mirror._known(api, one) for one in list_mirrors(api, ends.project)]


class Mirror:
    """A mirror by its name. What it tells is asked of the server each time."""

    def __init__(self, name: str, *, server: str | None = None, project: str | None = None) -> None:
        ends = resolve_target(server, project)
        self._api, self._project = Api(ends.server, ends.token), ends.project
        self.name = get_mirror(self._api, self._project, name).name

    @classmethod
    def _known(cls, api: Api, one: wire.Mirror) -> Mirror:
        made = cls.__new__(cls)
        made._api, made._project, made.name = api, one.project, one.name
        return made

    def __repr__(self) -> str:
        return f"Mirror({self._project}/{self.name})"

    @property
    def info(self) -> wire.Mirror:
        """Everything the server says of it."""
        return get_mirror(self._api, self._project, self.name)

    @property
    def state(self) -> str:
        return self.info.state

    @property
    def lag(self) -> wire.MirrorLag | None:
        """How far the target is behind; None as long as nobody has counted."""
        return self.info.lag

    @property
    def conflicts(self) -> list[wire.MirrorIssue]:
        """Of the last run: what others have put or changed at the target. It was left as it is."""
        result = self.info.result
        return list(result.conflicts) if result else []

    def run(self, *, wait: bool = True, dry_run: bool = False) -> wire.MirrorResult | None:
        """Run it now. NotReady with the reason if the run fails. With `dry_run`, what it would do."""
        if dry_run:
            return plan_mirror(self._api, self._project, self.name)
        asked = run_mirror(self._api, self._project, self.name)
        if not wait:
            return None
        done = wait_for_run(self._api, asked)
        if done.problem is not None:
            raise NotReady(f"Mirror {self.name} failed: {done.problem}")
        return done.result

    def pause(self) -> None:
        self._change(wire.MirrorChange(paused=True))

    def resume(self) -> None:
        """From now on it runs with your permissions."""
        self._change(wire.MirrorChange(paused=False))

    def remove(self) -> None:
        """What it has put at its target stays."""
        delete_mirror(self._api, self._project, self.name)

    def _change(self, asked: wire.MirrorChange) -> None:
        change_mirror(self._api, self._project, self.name, asked)
