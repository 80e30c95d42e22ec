"""Tools that commit to datasets. What a commit removed is still in the commits before it."""

from __future__ import annotations

import io
from typing import Annotated, Any

from pydantic import Field

from millpond.client.branches import create_ref, merge
from millpond.client.datasets import create_dataset
from millpond.client.edits import put_files, remove_paths
from millpond.client.sync import sync
from millpond.client.working_copy import find_working_copy
from millpond.errors import BadRequest
from millpond.mcp.answers import document
from millpond.mcp.tool import Commit, Project, Tools, changes
from millpond.model.dataset import RefType
from millpond.model.path import to_text

Message = Annotated[str, Field(description="Commit message: what changed and why.")]
Branch = Annotated[str, Field(description="dataset, dataset@branch or project/dataset@branch (default main).")]


class DatasetChanges(Tools):
    @changes("Create a dataset")
    def create_dataset(
        self,
        name: Annotated[str, Field(description="Lower-case letters, digits and dashes.")],
        description: str = "",
        project: Project = None,
    ) -> dict[str, Any]:
        """Create an empty dataset."""
        return document(create_dataset(self._api, self._project(project), name, description))

    @changes("Commit a folder", repeatable=True)
    def sync_folder(
        self,
        message: Message,
        folder: Annotated[str, Field(description="A working copy, inside the folder of this server.")] = ".",
    ) -> dict[str, Any]:
        """Commit what a working copy holds to its dataset, as `mill data sync` does. The folder must be one already:
        `mill data init` or `mill data clone` makes one."""
        local = self._place.local(folder)
        copy = find_working_copy(local)
        if copy is None or not copy.root.resolve().is_relative_to(self._place.folder.resolve()):
            raise BadRequest(
                f"{folder} is no working copy.", hint="Make it one: mill data init DATASET, in that folder."
            )
        done = sync(self._api, copy, message=message)
        skipped = {to_text(path): why for path, why in done.skipped.items()}
        return {"commit": done.commit.id, "changed": done.changed, "files": done.commit.files,
                "bytes": done.commit.bytes, "sent_bytes": done.sent, "skipped": skipped}  # fmt: skip

    @changes("Write a text file", destroys=True, repeatable=True)
    def write_file(
        self,
        branch: Branch,
        path: Annotated[str, Field(min_length=1, description="Path in the dataset, like docs/labels.csv.")],
        text: Annotated[str, Field(max_length=1_000_000, description="The whole new content.")],
        message: Message,
    ) -> dict[str, Any]:
        """Commit a text as one file of a branch; replaces the file if there is one. Older commits keep it."""
        where = self._place.commit(branch)
        files = {path: io.BytesIO(text.encode())}
        return document(
            put_files(self._api, where.project, where.dataset, files, branch=where.ref, message=message)
        )  # fmt: skip

    @changes("Remove files", destroys=True)
    def remove_files(
        self,
        branch: Branch,
        paths: Annotated[list[str], Field(min_length=1, max_length=1000)],
        message: Message,
        recursive: Annotated[bool, Field(description="Remove directories with all they hold.")] = False,
    ) -> dict[str, Any]:
        """Commit without these files. Older commits keep them."""
        where = self._place.commit(branch)
        return document(
            remove_paths(
                self._api, where.project, where.dataset, paths, branch=where.ref, recursive=recursive, message=message
            )
        )

    @changes("Create a tag")
    def create_tag(self, commit: Commit, name: Annotated[str, Field(min_length=1)]) -> dict[str, Any]:
        """Give a commit a tag: a name that does not move."""
        return self._ref(commit, name, RefType.TAG)

    @changes("Create a branch")
    def create_branch(self, commit: Commit, name: Annotated[str, Field(min_length=1)]) -> dict[str, Any]:
        """Begin a branch at a commit."""
        return self._ref(commit, name, RefType.BRANCH)

    @changes("Merge a branch", repeatable=True)
    def merge_branch(
        self,
        source: Annotated[str, Field(description="Branch whose changes are brought over.")],
        into: Branch,
        message: str = "",
    ) -> dict[str, Any]:
        """Merge a branch into another one of the same dataset. Conflicts are told, and nothing changes then."""
        where = self._place.commit(into)
        return document(merge(self._api, where.project, where.dataset, source, where.ref, message=message))

    def _ref(self, commit: str, name: str, kind: RefType) -> dict[str, Any]:
        where = self._place.commit(commit)
        return document(create_ref(self._api, where.project, where.dataset, name, type=kind, at=where.ref))
