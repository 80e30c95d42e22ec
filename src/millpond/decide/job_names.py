"""Generated job names, and the forms in which people refer to a job."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

_ADJECTIVES = (
    "able amber ample apt basic blue bold brave brief bright brisk broad calm clear cool crisp deft eager early easy "
    "even fair fast fine firm fond frank free fresh full gentle glad gold good grand great green happy keen kind late "
    "light live lucid mild neat new nimble noble pale plain proud quick quiet rapid ready rich round sharp silent "
    "smart smooth snug solid steady still strong sunny sure sweet swift tidy true vivid warm wide wise young"
)
_NOUNS = (
    "acorn alder ash badger barley bay beech birch brook cedar clover coot crane creek dale dove eddy elm fern finch "
    "fox frog gate glade grain grebe grove hare harrow hazel heath heron hill hollow ivy jay kestrel lark ledge lily "
    "linden loam maple marsh meadow mill minnow moor moss newt oak oat otter owl perch pike pine pond poplar quail "
    "raven reed ridge river robin rye sedge shore sluice snipe sparrow spring stone stork swan tern thrush trout vale "
    "vole water weir wheat wheel willow wren yew"
)


def made_name(job_id: str) -> str:
    """A readable name that depends on the id alone: `brisk-otter`. Two ids may share one."""
    digest = hashlib.sha256(job_id.encode()).digest()
    return f"{_pick(_ADJECTIVES, digest[:4])}-{_pick(_NOUNS, digest[4:8])}"


@dataclass(frozen=True, slots=True)
class JobWritten:
    """`NAME`, `NAME#2`, or an id or the beginning of one (which looks like a name without a number)."""

    name: str
    number: int | None = None

    @classmethod
    def parse(cls, text: str) -> JobWritten:
        """Accepts any text; impossible names are simply not found."""
        name, hash_, number = text.partition("#")
        if hash_ and number.isascii() and number.isdigit() and len(number) < 10:
            return cls(name, int(number))
        return cls(text)


def _pick(words: str, number: bytes) -> str:
    chosen = words.split()
    return chosen[int.from_bytes(number, "big") % len(chosen)]
