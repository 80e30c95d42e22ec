"""What changes in a database that was restored from a backup, before anybody uses it."""

from __future__ import annotations

from sqlalchemy import Connection, inspect

from millpond.db.tables import backup_run, notice, notification_delivery, server, volume
from millpond.model.notification import DeliveryState


def begin_anew(tx: Connection, database_id: str, *, volume_path: tuple[str, str]) -> None:
    """A new identity, nobody at work, and the local volume at its new place (before, after)."""
    tx.execute(server.update().values(database_id=database_id, collector=None, collector_until=None))
    before, after = volume_path
    tx.execute(volume.update().where(volume.c.path == before).values(path=after))
    if inspect(tx).has_table(backup_run.name):
        tx.execute(backup_run.delete().where(backup_run.c.ended_at.is_(None)))
    if inspect(tx).has_table(notification_delivery.name):
        # The server that was has sent this, or its successor elsewhere will.
        tx.execute(notice.delete())
        waiting = notification_delivery.c.state == DeliveryState.WAITING.value
        tx.execute(notification_delivery.delete().where(waiting))
