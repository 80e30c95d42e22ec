"""Access to the lake: reads for fills with the agent's token, outputs and checkpoints with the job's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from millpond.agent.kept_outputs import CommittedOutputs, FilesNoted
from millpond.agent.spec import Spec
from millpond.client.checkpoint import SAVED_BY_JOB, checkpoint_branch
from millpond.client.commits import find_commit
from millpond.client.http import Api
from millpond.client.job_commits import JobBranch, commit_directory, head_of
from millpond.client.transfer import ApiDownloader
from millpond.lake.fetch import fetch_tree
from millpond.lake.pages import Row
from millpond.lake.reader import TreeReader
from millpond.lake.store_retry import Waiting
from millpond.model.names import CHECKPOINT_DATASET, CODE_DATASET, OUTPUT_DATASET, WORKSPACE_DATASET
from millpond.volumes.workspaces.identities import identified
from millpond.wire.desired import DesiredFill, DesiredPlacement
from millpond.wire.workspaces import DesiredSnapshot, DesiredSource, DesiredWorkspace

# The agent itself tries again, and says so meanwhile: one call need not be patient.
PATIENCE_SECONDS = 5.0
# Of snapshots that are kept in the background, beside whatever else the agent does: they need not be quick.
KEEP_PACK_BYTES = 4 << 20


def open_source(api: Api, fill: DesiredFill, waiting: Waiting) -> ApiDownloader:
    """Reader of the commit of a fill. The server signs URLs only while the fill is requested."""
    return ApiDownloader(api, fill.project, fill.dataset, fill.commit_id, waiting=waiting)


def save_outputs(spec: Spec, output: Path) -> CommittedOutputs:
    """Commit everything below `output` to the branch of the job."""
    branch, noted = JobBranch(spec.project, OUTPUT_DATASET, spec.job), FilesNoted()
    with _of_job(spec) as api:
        commit = commit_directory(api, branch, output, message=f"Outputs of job {spec.job}", note=noted)
    return CommittedOutputs(commit.id, noted.files)


def save_checkpoint(spec: Spec, directory: Path) -> str | None:
    """Commit everything below `directory` as the newest checkpoint of the job; the commit's id."""
    with _of_job(spec) as api:
        branch = checkpoint_branch(spec.project, spec.job)
        return commit_directory(api, branch, directory, message=f"Checkpoint of job {spec.job}, saved at its end").id


def saves_itself(spec: Spec) -> bool:
    """True if the job has called `millpond.checkpoint()`: then only what it saved so is known to be whole."""
    with _of_job(spec) as api:
        head = head_of(api, checkpoint_branch(spec.project, spec.job))
    return head is not None and head.message.endswith(SAVED_BY_JOB)


def restore_checkpoint(server: str, desired: DesiredPlacement, directory: Path) -> None:
    """Write the checkpoint that the placement goes on from into `directory`, which is empty."""
    assert desired.checkpoint is not None
    _fetch(server, desired, CHECKPOINT_DATASET, desired.checkpoint, directory)


def fetch_code(server: str, desired: DesiredPlacement, directory: Path) -> None:
    """Write the code of the placement into `directory`, which is empty: where no volume is near."""
    assert desired.code is not None
    _fetch(server, desired, CODE_DATASET, desired.code.commit_id, directory)


def fetch_source(server: str, desired: DesiredWorkspace, source: DesiredSource, directory: Path) -> None:
    """Write the commit that a workspace begins with into `directory`, which is empty, every byte checked."""
    project = source.project or desired.project
    with (
        Api(server, desired.token, patience=PATIENCE_SECONDS) as api,
        ApiDownloader(api, project, source.dataset, source.commit_id) as reader,
    ):
        fetch_tree(reader, source.tree, directory)


def read_rows(server: str, desired: DesiredWorkspace, source: DesiredSource) -> Iterator[Sequence[Row]]:
    """The entries of the commit that a workspace began with, page by page in the order of their paths."""
    project = source.project or desired.project
    with (
        Api(server, desired.token, patience=PATIENCE_SECONDS) as api,
        ApiDownloader(api, project, source.dataset, source.commit_id) as pages,
    ):
        reader = TreeReader(pages, source.tree)
        for leaf in reader.leaves():
            yield list(reader.leaf(leaf.id).rows())


def keep_snapshot(
    server: str, desired: DesiredWorkspace, snapshot: DesiredSnapshot, tree: Path, stat_cache: Path, record: Path
) -> str:
    """Commit a near snapshot to its own branch; the commit's id."""
    branch = JobBranch(desired.project, WORKSPACE_DATASET, f"{desired.id}/{snapshot.number}")
    with Api(server, desired.token, patience=PATIENCE_SECONDS) as api:
        message = f"Snapshot {snapshot.name} of workspace {desired.name}"
        # Of a subvolume there is no record: its files are the same inodes as in the tree.
        identify = partial(identified, record) if record.exists() else None
        parent = find_commit(api, branch.project, branch.dataset, snapshot.parent) if snapshot.parent else None
        commit = commit_directory(
            api,
            branch,
            tree,
            message=message,
            stat_cache=stat_cache,
            identify=identify,
            known_tree=parent.tree if parent else None,
            pack_target=KEEP_PACK_BYTES,
        )
        return commit.id


def _fetch(server: str, desired: DesiredPlacement, dataset: str, commit_id: str, directory: Path) -> None:
    with Api(server, desired.token, patience=PATIENCE_SECONDS) as api:
        commit = find_commit(api, desired.project, dataset, commit_id)
        with ApiDownloader(api, desired.project, dataset, commit.id) as source:
            fetch_tree(source, commit.tree, directory)


def _of_job(spec: Spec) -> Api:
    return Api(spec.env["MILL_SERVER"], spec.env["MILL_TOKEN"], patience=PATIENCE_SECONDS)
