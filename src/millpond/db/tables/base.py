"""What the tables of every area are made of. Migrations build exactly those; a test compares them on both databases."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    TypeDecorator,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class UtcTime(TypeDecorator[datetime]):
    """A moment. Stored in UTC; SQLite forgets the offset, so it is put back."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without an offset")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Bytes(LargeBinary):
    """Bytes that go to the driver as they are: both drivers take them, and a wrapper for each is felt in bulk."""

    def bind_processor(self, dialect: Dialect) -> None:
        return None


# SQLite gives row ids only to INTEGER columns.
BigId = BigInteger().with_variant(Integer(), "sqlite")


def id_column() -> Column[str]:
    return Column("id", String(32), primary_key=True)


def ref_column(
    column: str, target: str, *, nullable: bool = False, cascade: bool = False, index: bool = True
) -> Column[str]:
    ondelete = "CASCADE" if cascade else None
    return Column(column, String(32), ForeignKey(target, ondelete=ondelete), nullable=nullable, index=index)


def time_column(name: str, *, nullable: bool = False, index: bool = False) -> Column[datetime]:
    return Column(name, UtcTime, nullable=nullable, index=index)
