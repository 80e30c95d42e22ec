"""A flow on this machine: `flow.yaml` or a Python script, with the code, packages and components it names beside it."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from millpond.decide.flows.beside import file_problems
from millpond.decide.flows.check import CheckedFlow, check_flow
from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.fields import nearest
from millpond.decide.flows.reader import read_flow
from millpond.errors import BadRequest, Invalid, NotFound, TooLarge
from millpond.flows.script import compile_script
from millpond.lake.code_files import IGNORE_FILES, IGNORED
from millpond.lake.scan import scan
from millpond.library.catalog import Catalog, FoundComponent
from millpond.model.flow import Flow, FlowProblem, StepKind
from millpond.model.path import to_text
from millpond.model.program import content, mode_of
from millpond.model.quantity import format_bytes
from millpond.model.tree import Kind

FILE = "flow.yaml"
COMPONENTS = "components"
# What local runs keep beside the file is no code.
_IGNORED = (*IGNORED, ".mill-flow/")
_SUFFIXES = (".yaml", ".yml", ".py")
_MOST_FILES, _MOST_BYTES = 10_000, 64 << 20


@dataclass(frozen=True, slots=True)
class FlowFile:
    """`text` is its YAML; of a Python script, what that compiles to. Paths in it are relative to `folder`."""

    path: Path
    text: str

    @property
    def folder(self) -> Path:
        return self.path.parent

    @property
    def catalog(self) -> Catalog:
        """The components of this installation and those beside the file."""
        return Catalog([self.folder / COMPONENTS])

    def check(self) -> CheckedFlow:
        """Every problem that can be found without a server."""
        checked = check_flow(self.text, self.catalog.component)
        if checked.flow is None:
            return checked
        _, document, _ = read_flow(self.text)
        context = FlowContext(checked.flow, document, checked.components)
        files = {path.relative_to(self.folder).as_posix() for path in self._named(checked.flow)}
        found = [*checked.problems, *file_problems(context, files)]
        ordered = sorted(found, key=lambda one: (one.line, one.column, one.code, one.message))
        return CheckedFlow(checked.flow, tuple(ordered), checked.components)

    def require_flow(self) -> Flow:
        """Invalid if the text is no flow at all."""
        flow, _, problems = read_flow(self.text)
        if flow is None:
            raise problems_error(self.path, problems)
        return flow

    def packed(self) -> bytes:
        """What is saved as a version: a zip with `flow.yaml` and everything that it names beside it."""
        flow, _, _ = read_flow(self.text)
        files = {FILE: self.text.encode()}
        for path in sorted(self._named(flow)) if flow else ():
            files.setdefault(path.relative_to(self.folder).as_posix(), _content(path))
        size = sum(map(len, files.values()))
        if len(files) > _MOST_FILES or size > _MOST_BYTES:
            raise TooLarge(
                f"The code of {self.path} is {len(files):,} files of {format_bytes(size)}: at most {_MOST_FILES:,} "
                f"files of {format_bytes(_MOST_BYTES)} are saved with a flow.",
                hint="Put data into a dataset, and list what is not code in .millignore.",
            )
        return _zipped(files)

    def _named(self, flow: Flow) -> Iterator[Path]:
        for step in flow.steps.values():
            if step.kind is StepKind.COMMAND and step.code and "@" not in step.code:
                yield from self._code(step.code)
            if step.environment:
                tried = [self.folder / (step.code or ".") / step.environment, self.folder / step.environment]
                yield from [path for path in tried if path.is_file() and path.is_relative_to(self.folder)][:1]
        for component in {step.component.partition("@")[0] for step in flow.steps.values() if step.component}:
            for found in self._components():
                if found.component.name == component:
                    yield from _files(found.folder)

    def _components(self) -> list[FoundComponent]:
        """Those beside the file."""
        place = str(self.folder / COMPONENTS)
        return [one for one in self.catalog.all() if one.origin == place]

    def _code(self, code: str) -> Iterator[Path]:
        """The files of a code folder, if that is the folder of the file or below it."""
        top, folder = self.folder.resolve(), (self.folder / code).resolve()
        if folder.is_relative_to(top):
            yield from _files(self.folder / folder.relative_to(top))


def is_file_name(written: str) -> bool:
    """True if the text names a file or folder here, and not a flow of the project."""
    path = Path(written)
    return path.suffix in _SUFFIXES or "/" in written or written in (".", "..") or path.is_file()


def read_flow_file(path: Path) -> FlowFile:
    """The flow of a file, or of the `flow.yaml` of a folder."""
    if path.is_dir():
        path = path / FILE
    if not path.is_file():
        beside = [one.name for one in path.parent.glob("*") if one.suffix in _SUFFIXES] if path.parent.is_dir() else []
        hint = nearest(path.name, beside) if beside else "Give the path of a flow file."
        raise NotFound(f"No file {str(path)!r}.", hint=hint)
    if path.suffix == ".py":
        return FlowFile(path, compile_script(path))
    try:
        return FlowFile(path, path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"Cannot read {path}: {error}") from error


def problems_error(
    path: Path | str, problems: Iterator[FlowProblem] | tuple[FlowProblem, ...] | list[FlowProblem]
) -> Invalid:
    """All problems of a flow as one error."""
    found = list(problems)
    listed = "\n".join(f"  {problem_line(path, one)}" for one in found)
    documents = [problem_document(one) for one in found]
    return Invalid(f"The flow has problems:\n{listed}", hint=f"See: mill flow validate {path}", problems=documents)


def problem_line(path: Path | str, problem: FlowProblem) -> str:
    return f"{path}:{problem.line}:{problem.column}: {problem.message} {problem.hint}".rstrip()


def problem_document(problem: FlowProblem) -> dict[str, object]:
    return {key: getattr(problem, key) for key in ("line", "column", "path", "code", "message", "hint")}


def _files(folder: Path) -> Iterator[Path]:
    """The files of a code folder, without what ignore files leave out; a link stands for what it points to."""
    if not folder.is_dir():
        return
    for found in scan(folder, ignore_files=IGNORE_FILES, ignore=_IGNORED):
        path = folder / to_text(found.path)
        if found.status is not None and found.kind is not Kind.DIRECTORY and path.is_file():
            yield path


def _content(path: Path) -> bytes:
    return content(path.read_bytes(), executable=os.access(path, os.X_OK))


def _zipped(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            member = zipfile.ZipInfo(path)
            member.external_attr = mode_of(data) << 16
            archive.writestr(member, data)
    return target.getvalue()
