"""The driver `nice`: jobs run as processes of low priority, so that the machine stays usable for people."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from millpond.agent.drivers.choose import AgentMachine
from millpond.agent.drivers.options import Given, Options, checked
from millpond.agent.drivers.process import ProcessDriver


class NiceOptions(Options):
    """`-o level=5`; 19 is the lowest priority."""

    level: int = 10


class NiceDriver(ProcessDriver):
    def __init__(self, machine: AgentMachine, level: int) -> None:
        super().__init__([machine.node], machine.isolation)
        # Linux keeps a priority per thread, and processes inherit it from the thread that starts them.
        self._starter = ThreadPoolExecutor(1, "nice", initializer=os.nice, initargs=(level,))

    @property
    def name(self) -> str:
        return "nice"

    def start(self, directory: Path) -> None:
        self._starter.submit(super().start, directory).result()


def open_driver(machine: AgentMachine, options: Given) -> NiceDriver:
    return NiceDriver(machine, checked(NiceOptions, options, "nice").level)
