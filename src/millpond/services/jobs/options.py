"""What jobs and templates may ask for: GPUs, variables, driver options, node selectors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from millpond.decide.computes import WHOLE
from millpond.errors import Invalid
from millpond.model.quantity import format_bytes, format_gpus
from millpond.model.secret import RESERVED

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPTION = re.compile(r"[a-z][a-z0-9_]{0,39}")
_OPTION_VALUE = re.compile(r"[!-~]{1,200}")
# As Kubernetes writes labels: an optional prefix, a name; a value of the same letters, or none.
_LABEL = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9.-]{0,252}/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")

_MOST_PARAMS = 100_000


def check_gpus(hundredths: int) -> None:
    if hundredths > WHOLE and hundredths % WHOLE:
        raise Invalid(
            f"A job cannot have {format_gpus(hundredths)} GPUs.",
            hint="Ask for a whole number of GPUs, or for a part of one: 0.01 to 0.99.",
            fields=["gpu_hundredths"],
        )


def check_options(options: Mapping[str, str]) -> None:
    for key, value in options.items():
        if not (_OPTION.fullmatch(key) and _OPTION_VALUE.fullmatch(value)):
            raise Invalid(f"{key}={value} is not an option.", hint="Write it as partition=long.", fields=["options"])


def check_selector(selector: Mapping[str, str]) -> None:
    for key, value in selector.items():
        if not (_LABEL.fullmatch(key) and _LABEL_VALUE.fullmatch(value)):
            raise Invalid(
                f"{key}={value} is not a label of a node.", hint="Write it as KEY=VALUE, like zone=a.",
                fields=["node_selector"],
            )  # fmt: skip


def check_variables(env: Mapping[str, str], secrets: Mapping[str, str]) -> None:
    if both := sorted(env.keys() & secrets.keys()):
        raise Invalid(f"{both[0]!r} is both a variable and a secret.", fields=["env", "secrets"])
    for name in (*env, *secrets):
        if not _VARIABLE.fullmatch(name):
            raise Invalid(f"{name!r} is not a valid name of a variable.", fields=["env"])
        if name.startswith(RESERVED):
            raise Invalid(
                f"{name!r} is reserved: Millpond sets the variables that begin with {RESERVED}.",
                hint="Choose another name.",
                fields=["env"],
            )
    if any("\0" in value for value in env.values()):
        raise Invalid("A variable cannot hold a zero byte.", fields=["env"])


def check_params(params: Mapping[str, Any]) -> None:
    """They become one variable of the job's environment, which the kernel limits to 128 KiB."""
    if len(json.dumps(dict(params))) > _MOST_PARAMS:
        raise Invalid(
            f"The parameters of a job can have at most {format_bytes(_MOST_PARAMS)} in all.",
            hint="Put larger values into a file of the code or a dataset.",
            fields=["params"],
        )
