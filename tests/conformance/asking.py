"""Put every case to a server, and keep what it answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import cast

from tests.conformance.cases import all_cases
from tests.conformance.comparing import VARYING
from tests.conformance.registry import Answer, Case, Session
from tests.conformance.servers import Server

RECORDED = Path(__file__).parent / "triton_answers.json"


def recorded() -> dict[str, Answer]:
    """What Triton answered when it was last asked."""
    return cast(dict[str, Answer], json.loads(RECORDED.read_text()))


def record(answers: dict[str, Answer]) -> None:
    """Keep Triton's answers, without what differs each time it is asked."""
    text = json.dumps(_lasting(answers), indent=1, sort_keys=True, ensure_ascii=False)
    RECORDED.write_text(re.sub(r"/[^ \"]*/repository/", "repository/", text) + "\n")


def _lasting(answer: Answer) -> Answer:
    if isinstance(answer, dict):
        return {key: 0 if key in VARYING and type(value) is int else _lasting(value) for key, value in answer.items()}
    return [_lasting(value) for value in answer] if isinstance(answer, list) else answer


def ask_all(start: Callable[[], AbstractContextManager[Server]], only: str = "") -> dict[str, Answer]:
    """The answers of one server to every case, by name. A server that a case ends is started again."""
    answers: dict[str, Answer] = {}
    with ExitStack() as stack:
        session = None
        for case in all_cases():
            if only not in case.name:
                continue
            if session is None:
                server = stack.enter_context(start())
                session = stack.enter_context(Session(server))
            answers[case.name] = _answer(case, session)
            if not server.is_alive():
                answers[case.name] = {"ended": True}
                stack.close()
                session = None
    return answers


def _answer(case: Case, session: Session) -> Answer:
    try:
        return json.loads(json.dumps(case.ask(session), default=str))
    except Exception as error:
        return {"suite_failed": f"{type(error).__name__}: {error}"}
