"""What is saved as a version of a flow: `flow.yaml`, and the folders of code and components beside it."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass

from blake3 import blake3

from millpond.decide.flows.beside import folder_prefix
from millpond.decide.flows.document import read_document
from millpond.errors import BadRequest, TooLarge
from millpond.model.dataset import Commit, Dataset
from millpond.model.path import check_path, from_text, to_text
from millpond.model.program import Program, content
from millpond.model.quantity import format_bytes
from millpond.model.tree import Kind
from millpond.services.datasets.files import open_file
from millpond.services.datasets.reading import reader_of
from millpond.services.deps import Deps

FILE = "flow.yaml"
MAX_FILES = 10_000
MAX_BYTES = 64 << 20
ZIP = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class Bundle:
    """`files` by path, with `flow.yaml` among them; executable ones are `Program`s."""

    files: Mapping[str, bytes]

    @property
    def text(self) -> str:
        return self.files[FILE].decode("utf-8")

    @property
    def beside(self) -> Mapping[str, bytes]:
        return {path: data for path, data in self.files.items() if path != FILE}

    @property
    def digest(self) -> str:
        """That of what the flow does: comments, and positions on the page, are no part of it."""
        document, _ = read_document(self.text)
        value = document.value if isinstance(document.value, dict) else {}
        shown = {key: item for key, item in value.items() if key != "ui"}
        hasher = blake3(json.dumps(shown, sort_keys=True, default=str).encode())
        for path, data in sorted(self.beside.items()):
            program = "+x" if isinstance(data, Program) else ""
            hasher.update(f"{path}\0{blake3(data).hexdigest()}{program}\n".encode())
        return hasher.hexdigest()

    def folder(self, path: str) -> Mapping[str, bytes]:
        """The files below a folder, by their paths inside it."""
        top = folder_prefix(path)
        return {name.removeprefix(top): data for name, data in self.files.items() if name.startswith(top)}


def is_archive(body: bytes) -> bool:
    """True if it is a zip, which holds everything; otherwise it is the text of `flow.yaml` alone."""
    return body.startswith(ZIP)


def read_bundle(body: bytes) -> Bundle:
    """A YAML text, or a zip that holds one as `flow.yaml`. BadRequest for anything else."""
    files = _unzip(body) if is_archive(body) else {FILE: body}
    if FILE not in files:
        raise BadRequest(f"The archive holds no {FILE}.", hint="Put flow.yaml at its top: mill flow save does that.")
    try:
        files[FILE].decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest(f"{FILE} is not UTF-8 text.", hint="Save it as UTF-8.") from error
    return Bundle(files)


def read_commit(deps: Deps, dataset: Dataset, commit: Commit) -> Bundle:
    """The bundle that was saved as this commit."""
    files = {}
    for entry in reader_of(deps, dataset, commit).entries():
        file = open_file(deps, dataset, commit, to_text(entry.path))
        data = b"".join(file.read(deps, 0, file.size))
        files[file.path] = content(data, executable=entry.kind is Kind.EXECUTABLE)
    return Bundle(files)


def _unzip(body: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            members = [one for one in archive.infolist() if not one.is_dir()]
            total = sum(one.file_size for one in members)
            if len(members) > MAX_FILES or total > MAX_BYTES:
                raise TooLarge(
                    f"The flow has {len(members):,} files of {format_bytes(total)} beside it.",
                    hint=f"At most {MAX_FILES:,} files of {format_bytes(MAX_BYTES)}: put data into a dataset.",
                )
            return {check_path(from_text(one.filename)).decode(): _read(archive, one) for one in members}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, UnicodeDecodeError, EOFError) as error:
        raise BadRequest(
            f"The archive cannot be read: {error}.", hint="Send a zip, or the text of flow.yaml."
        ) from error


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    return content(archive.read(member), executable=bool(member.external_attr >> 16 & 0o111))
