"""What is promised to a tree is never less than it takes, whatever blocks the file system has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millpond.decide.allocation import BLOCK, Allocating, Counted, room_of_tree

TINY = Counted(bytes=5 * 30_000, files=30_000, allocated=BLOCK * 30_101, inodes=30_101, directory_bytes=BLOCK * 101)


def in_blocks(size: int, block: int) -> int:
    return -(-size // block) * block


@given(
    sizes=st.lists(st.integers(0, 300_000), max_size=30),
    directories=st.integers(1, 5),
    block=st.sampled_from([512, 1024, 2048, 4096, 8192, 65536, 1 << 20]),
    inode=st.sampled_from([0, 256, 512]),
)
def test_never_less_than_it_takes(sizes: list[int], directories: int, block: int, inode: int) -> None:
    counted = Counted(
        bytes=sum(sizes),
        files=len(sizes),
        allocated=sum(in_blocks(size, BLOCK) for size in sizes) + directories * BLOCK,
        inodes=len(sizes) + directories,
        directory_bytes=directories * BLOCK,
    )
    taken = sum(in_blocks(size, block) for size in sizes) + directories * block + counted.inodes * inode
    assert room_of_tree(counted, Allocating(block, inode)).bytes >= taken


def test_tiny_files_take_the_blocks_of_the_volume_and_not_those_they_were_counted_in() -> None:
    small = room_of_tree(TINY, Allocating(block_bytes=1024))
    assert 30_000 * 1024 <= small.bytes <= 33_000 * 1024
    assert room_of_tree(TINY, Allocating(block_bytes=65536)).bytes >= 30_101 * 65536


def test_inodes_that_are_made_of_free_space_take_room() -> None:
    plain, dynamic = room_of_tree(TINY, Allocating()), room_of_tree(TINY, Allocating(inode_bytes=512))
    assert (plain.bytes, dynamic.bytes) == (TINY.allocated, TINY.allocated + 30_101 * 512)
    assert plain.inodes == dynamic.inodes == 30_101


def test_a_tree_whose_directories_were_never_counted_keeps_what_it_was_counted_as() -> None:
    unknown = Counted(bytes=5, files=1, allocated=2 * BLOCK, inodes=2)
    assert room_of_tree(unknown, Allocating(block_bytes=1024)).bytes == 2 * BLOCK
