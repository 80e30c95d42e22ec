"""Providers of single sign-on. Secrets go in and out sealed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from millpond.db.tables import auth_provider
from millpond.model.sign_in import LdapSettings, OidcSettings, Provider, ProviderKind


def insert(tx: Connection, value: Provider) -> None:
    """IntegrityError when the name is taken."""
    tx.execute(
        auth_provider.insert().values(
            id=value.id,
            name=value.name,
            kind=value.kind.value,
            title=value.title,
            settings=value.settings.to_document(),
            secret=value.secret,
            enabled=value.enabled,
            created_at=value.created_at,
            created_by=value.created_by,
        )
    )


def save(tx: Connection, value: Provider) -> None:
    """Its title, settings, secret, and whether it may be used; name and kind never change."""
    values = {
        "title": value.title,
        "settings": value.settings.to_document(),
        "secret": value.secret,
        "enabled": value.enabled,
    }
    tx.execute(auth_provider.update().where(auth_provider.c.id == value.id).values(**values))


def get(tx: Connection, provider_id: str) -> Provider | None:
    row = tx.execute(select(auth_provider).where(auth_provider.c.id == provider_id)).first()
    return _value(row) if row else None


def find(tx: Connection, name: str) -> Provider | None:
    row = tx.execute(select(auth_provider).where(auth_provider.c.name == name)).first()
    return _value(row) if row else None


def all_of(tx: Connection, *, enabled: bool = False) -> Sequence[Provider]:
    """By name; with `enabled` only those that may be used."""
    query = select(auth_provider).order_by(auth_provider.c.name)
    return [_value(row) for row in tx.execute(query.where(auth_provider.c.enabled) if enabled else query)]


def delete(tx: Connection, provider_id: str) -> None:
    """Its rules go with it."""
    tx.execute(auth_provider.delete().where(auth_provider.c.id == provider_id))


def _value(row: Row[Any]) -> Provider:
    kind = ProviderKind(row.kind)
    settings = OidcSettings if kind is ProviderKind.OIDC else LdapSettings
    return Provider(
        id=row.id,
        name=row.name,
        kind=kind,
        title=row.title,
        settings=settings.from_document(row.settings),
        secret=row.secret,
        enabled=row.enabled,
        created_at=row.created_at,
        created_by=row.created_by,
    )
