"""How this server sends e-mail: one row, or none. The password goes in and out sealed."""

from __future__ import annotations

from sqlalchemy import Connection, select

from millpond.db.tables import smtp_settings
from millpond.model.notification import SmtpSettings, SmtpTls


def get(tx: Connection) -> SmtpSettings | None:
    row = tx.execute(select(smtp_settings)).first()
    if row is None:
        return None
    return SmtpSettings(
        host=row.host, port=row.port, tls=SmtpTls(row.tls), sender=row.sender, user=row.user, password=row.password,
        domains=tuple(row.domains), set_by=row.set_by, set_at=row.set_at,
    )  # fmt: skip


def put(tx: Connection, value: SmtpSettings | None) -> None:
    tx.execute(smtp_settings.delete())
    if value is not None:
        tx.execute(
            smtp_settings.insert().values(
                id=1, host=value.host, port=value.port, tls=value.tls.value, sender=value.sender, user=value.user,
                password=value.password, domains=list(value.domains), set_by=value.set_by, set_at=value.set_at,
            )
        )  # fmt: skip
