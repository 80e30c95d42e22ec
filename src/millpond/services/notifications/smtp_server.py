"""The mail server that this server sends by: set by site administrators, its password sealed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millpond.db import smtp
from millpond.decide.notifications import messages
from millpond.decide.notifications.addresses import check_email, is_host
from millpond.errors import Invalid, NotFound
from millpond.model.address import is_loopback_host
from millpond.model.ids import new_id
from millpond.model.notification import SmtpSettings, SmtpTls
from millpond.model.people import Actor
from millpond.services.deps import Deps
from millpond.services.notifications.outcome import Outcome
from millpond.services.notifications.sending import send_email, smtp_purpose
from millpond.services.people import audit

PORTS: Mapping[SmtpTls, int] = {SmtpTls.STARTTLS: 587, SmtpTls.TLS: 465, SmtpTls.NONE: 25}


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpWanted:
    """`port` None: the usual one. `password` None: as it was, if host and user are the same."""

    host: str
    sender: str
    port: int | None = None
    tls: SmtpTls = SmtpTls.STARTTLS
    user: str | None = None
    password: str | None = None
    domains: tuple[str, ...] = ()


def get(deps: Deps) -> SmtpSettings | None:
    with deps.db.read() as tx:
        return smtp.get(tx)


def put(deps: Deps, actor: Actor, wanted: SmtpWanted) -> SmtpSettings:
    _check(wanted)
    with deps.db.write() as tx:
        before = smtp.get(tx)
        value = SmtpSettings(
            host=wanted.host, port=wanted.port or PORTS[wanted.tls], tls=wanted.tls,
            sender=check_email(wanted.sender, field="sender"), user=wanted.user,
            password=_password(deps, wanted, before), domains=tuple(sorted({one.lower() for one in wanted.domains})),
            set_by=actor.name, set_at=deps.clock.now(),
        )  # fmt: skip
        smtp.put(tx, value)
        details: dict[str, Any] = {"port": value.port, "tls": value.tls.value, "from": value.sender, "user": value.user}
        audit.record(tx, now=deps.clock.now(), actor=actor, action="smtp.set", subject=value.host, details=details)
    return value


def remove(deps: Deps, actor: Actor) -> None:
    """E-mail that waits is tried until it is given up."""
    with deps.db.write() as tx:
        found = smtp.get(tx)
        if found is None:
            raise _not_set()
        smtp.put(tx, None)
        audit.record(tx, now=deps.clock.now(), actor=actor, action="smtp.remove", subject=found.host)


def test(deps: Deps, actor: Actor, to: str) -> Outcome:
    """Send a test message to an address now."""
    settings = get(deps)
    if settings is None:
        raise _not_set()
    address = check_email(to, domains=settings.domains, field="to")
    mail = messages.test_email(server=deps.settings.url)
    return send_email(deps, settings, mail, to=address, message_id=new_id(16), now=deps.clock.now())


def _check(wanted: SmtpWanted) -> None:
    if not is_host(wanted.host) and ":" not in wanted.host:
        raise Invalid(f"{wanted.host[:100]!r} is not the name of a host.", fields=["host"])
    if wanted.tls is SmtpTls.NONE and wanted.user is not None and not is_loopback_host(wanted.host):
        raise Invalid(
            "A password is not sent to another machine without TLS.", hint="Use --tls starttls or tls.", fields=["tls"]
        )
    for text, field in ((wanted.user or "", "user"), (wanted.password or "", "password")):
        if not text.isprintable():
            raise Invalid(f"The {field} cannot contain control characters.", fields=[field])
    if wanted.password is not None and wanted.user is None:
        raise Invalid("A password needs a user name.", hint="Add --user NAME.", fields=["user"])
    for domain in wanted.domains:
        if not is_host(domain):
            raise Invalid(f"{domain[:100]!r} is not a domain.", fields=["domains"])


def _password(deps: Deps, wanted: SmtpWanted, before: SmtpSettings | None) -> bytes | None:
    if wanted.password is not None:
        return deps.seal.seal(wanted.password, smtp_purpose())
    # The old password goes to nobody but whom it was entered for.
    is_same = before is not None and (before.host, before.user) == (wanted.host, wanted.user)
    kept = before.password if before is not None and is_same else None
    if wanted.user is not None and kept is None:
        raise Invalid("The password is missing.", hint="Add --password-file FILE, or - for stdin.", fields=["password"])
    return kept


def _not_set() -> NotFound:
    return NotFound(
        "No mail server is set.", hint="Set one: mill notification smtp set HOST --from ADDRESS", noun="mail server"
    )  # fmt: skip
