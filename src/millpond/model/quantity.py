"""Quantities as whole numbers: bytes, GPU hundredths, seconds; and how people write them."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from millpond.errors import BadRequest

DAY = 86_400
# Of a cached commit that nobody uses, and of a hold: what is to stay for longer is pinned.
LONGEST_IDLE = 36_500 * DAY
LONGEST_HOLD = 30 * DAY

_UNITS = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15,
          "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40, "pi": 2**50}  # fmt: skip
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgtp]?i?)b?\s*", re.IGNORECASE)
_TIME = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|m|h|d|w)?\s*", re.IGNORECASE)
_BANDWIDTH = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kKmMgGtT]?)(?:(B|bit|b|)(?:/s|ps)?)\s*")
_LATENCY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|)\s*", re.IGNORECASE)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": DAY, "w": 604800}


def parse_bytes(text: str) -> int:
    """`10GB`, `512Mi`, `1000`; MB is 10^6 everywhere, Mi is 2^20."""
    match = _SIZE.fullmatch(text)
    if not match:
        raise BadRequest(f"{text!r} is not a size.", hint="Write it as 500MB, 10GB or 2Ti.")
    return int(Decimal(match[1]) * _UNITS[match[2].lower()])


def parse_seconds(text: str, *, least: int = 0, most: int | None = None) -> int:
    """`90s`, `15m`, `8h`, `1d`, `0`; BadRequest without a unit, for less than `least` seconds or more than `most`."""
    match = _TIME.fullmatch(text)
    if not match:
        raise BadRequest(f"{text!r} is not a duration.", hint="Write it as 90s, 15m, 8h or 1d.")
    if not match[2] and Decimal(match[1]):
        number = text.strip()
        raise BadRequest(f"{number!r} has no unit.", hint=f"Write {number}s, {number}m or {number}h.")
    seconds = int(Decimal(match[1]) * _SECONDS[(match[2] or "").lower()])
    if seconds < least:
        raise BadRequest(f"{text!r} is too short.", hint=f"At least {format_seconds(least)}.")
    if most is not None and seconds > most:
        raise BadRequest(f"{text!r} is too long.", hint=f"At most {format_seconds(most)}.")
    return seconds


def parse_bandwidth(text: str) -> int:
    """`10Gbit/s`, `10G`, `400Mbps`: bits per second; `1.25GB/s`, with a capital B, is bytes."""
    match = _BANDWIDTH.fullmatch(text)
    if not match:
        raise BadRequest(f"{text!r} is not a bandwidth.", hint="Write it as 10Gbit/s, 400Mbit/s or 1.25GB/s.")
    factor = 8 if match[3] == "B" else 1
    return int(Decimal(match[1]) * _UNITS[match[2].lower()] * factor)


def parse_milliseconds(text: str) -> float:
    """`0.5ms`, `20` (both milliseconds), `2s`."""
    match = _LATENCY.fullmatch(text)
    if not match:
        raise BadRequest(f"{text!r} is not a latency.", hint="Write it as 0.5ms or 20ms.")
    return float(Decimal(match[1]) * (1000 if match[2].lower() == "s" else 1))


def parse_gpus(text: str) -> int:
    """What a job may ask for: `1`, `0.5`, `2` as whole hundredths. BadRequest for 1.5: a part is of one GPU."""
    amount = parse_gpu_amount(text)
    if amount > 100 and amount % 100:
        raise BadRequest(f"A job cannot have {text} GPUs.", hint="Ask for a whole number, or for a part: 0.01 to 0.99.")
    return amount


def parse_gpu_amount(text: str) -> int:
    """`1`, `0.5`, `2.5` as whole hundredths: amounts of GPUs are never floats."""
    try:
        amount = Decimal(text) * 100
    except InvalidOperation:
        raise BadRequest(f"{text!r} is not a number of GPUs.", hint="Write it as 1, 2 or 0.5.") from None
    if not amount.is_finite() or amount < 0 or amount != amount.to_integral_value():
        raise BadRequest(f"{text!r} is not a number of GPUs.", hint="Give GPUs in hundredths, like 0.25.")
    return int(amount)


def format_bytes(count: int) -> str:
    """`32.4 MB`, as on the page: powers of ten, one decimal."""
    if count < 1000:
        return f"{count} B"
    value = float(count)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.95:
            return f"{value:.1f} {unit}"
    return f"{value / 1000:.1f} PB"


def format_rate(bytes_per_second: float) -> str:
    """`340.0 MB/s`: what a fill brings."""
    return f"{format_bytes(round(bytes_per_second))}/s"


def format_bandwidth(bits_per_second: int) -> str:
    """`10 Gbit/s`, as links are known by."""
    for unit, size in (("Tbit/s", 10**12), ("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3)):
        if bits_per_second >= size:
            return f"{bits_per_second / size:.4g} {unit}"
    return f"{bits_per_second} bit/s"


def format_count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 commit`, `1,204 commits`; `plural` for nouns that do not take an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def format_tree(files: int, size: int) -> str:
    """`3,594 files, 6.6 MB`: how large a tree is."""
    return f"{format_count(files, 'file')}, {format_bytes(size)}"


def format_gpus(hundredths: int) -> str:
    return f"{Decimal(hundredths) / 100:f}".rstrip("0").rstrip(".") if hundredths % 100 else str(hundredths // 100)


def format_seconds(seconds: float) -> str:
    """`0.4 s`, `33 m 54 s`, `2 h 5 m`, `3 d 4 h`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, size, lower, lower_size in (("d", DAY, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // lower_size
            return f"{whole // size} {unit} {rest} {lower}" if rest else f"{whole // size} {unit}"
    return f"{whole} s"
