"""Estimates the disk space of a commit on a volume: counted in 4,096-byte blocks, converted to its own."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.decide.stock import Room

# What trees are counted in when they are accepted (docs/design/002-volume-format.md, "Space").
BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Counted:
    """Size of a tree, or of its difference to another, in blocks of BLOCK bytes.

    `directory_bytes` is the part of `allocated` used by directories; None if not counted.
    """

    bytes: int
    files: int
    allocated: int
    inodes: int
    directory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Allocating:
    """How a file system allocates: its smallest unit, and the free space used by an inode.

    Most have their inodes in tables that were made with the file system, and take nothing for one; XFS takes it from
    the space that files are stored in.
    """

    block_bytes: int = BLOCK
    inode_bytes: int = 0


def room_of_tree(counted: Counted, allocating: Allocating) -> Room:
    """Upper bound of the space a tree needs; close for files much smaller or larger than a block."""
    content = _content(counted, allocating.block_bytes)
    inodes = counted.inodes * allocating.inode_bytes
    return Room(content + inodes, counted.inodes)


def _content(counted: Counted, block_bytes: int) -> int:
    if block_bytes >= BLOCK:
        # Rounding up to a larger block adds at most the difference, to each file and each directory.
        return counted.allocated + counted.inodes * (block_bytes - BLOCK)
    if counted.directory_bytes is None:
        return counted.allocated
    in_blocks = counted.allocated - counted.directory_bytes
    return counted.directory_bytes + min(in_blocks, counted.bytes + counted.inodes * block_bytes)
