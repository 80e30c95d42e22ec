"""Compare answers: what must be equal, what only has to be of one kind, which differences are known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.conformance.known import KNOWN
from tests.conformance.registry import Answer

# Measured, or worded by each server itself: of these only the type is compared.
VARYING = frozenset({"ns", "last_inference", "error", "reason"})


@dataclass(frozen=True, slots=True)
class Comparison:
    """Names of cases by what came of them, with the reason or the places where they differ."""

    same: list[str]
    known: dict[str, str]
    unexpected: dict[str, list[str]]

    @property
    def cases(self) -> int:
        return len(self.same) + len(self.known) + len(self.unexpected)

    @property
    def outdated(self) -> list[str]:
        """Reasons that explain no difference any more."""
        told = "; ".join(self.known.values())
        return [one.reason for one in KNOWN if one.reason not in told]


def compare(ours: Mapping[str, Answer], theirs: Mapping[str, Answer]) -> Comparison:
    result = Comparison([], {}, {})
    for name in dict.fromkeys((*theirs, *ours)):
        if name not in ours or name not in theirs:
            result.unexpected[name] = ["asked of one server only: record Triton's answers again"]
            continue
        places = list(differences(ours[name], theirs[name]))
        reason = reason_of(name, places)
        if reason and places:
            result.known[name] = reason
        elif places:
            result.unexpected[name] = places
        else:
            result.same.append(name)
    return result


def reason_of(name: str, places: list[str]) -> str | None:
    """Why a case may differ: every place must be explained."""
    reasons = [next((why.reason for why in KNOWN if why.explains(name, place)), None) for place in places]
    return None if not reasons or None in reasons else "; ".join(dict.fromkeys(str(one) for one in reasons))


def differences(ours: Answer, theirs: Answer, at: str = "") -> Iterator[str]:
    """Each place where two answers differ, with both values."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(set(ours) | set(theirs)):
            where = f"{at}.{key}" if at else key
            if key not in ours:
                yield f"{where}: missing, Triton has {_short(theirs[key])}"
            elif key not in theirs:
                yield f"{where}: {_short(ours[key])}, Triton has none"
            elif key not in VARYING or type(ours[key]) is not type(theirs[key]):
                yield from differences(ours[key], theirs[key], where)
    elif isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            yield f"{at}: {len(ours)} items {_short(ours)}, Triton has {len(theirs)} {_short(theirs)}"
            return
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, f"{at}[{number}]")
    elif (ours != theirs and repr(ours) != repr(theirs)) or type(ours) is not type(theirs):
        # By their text, too: NaN is not equal to itself.
        yield f"{at}: {_short(ours)}, Triton has {_short(theirs)}"


def _short(value: Answer) -> str:
    text = re.sub(r"\s+", " ", repr(value))
    return text if len(text) < 200 else f"{text[:197]}..."
