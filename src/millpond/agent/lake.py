"""Access to the lake: reads for fills with the agent's token, writes outputs with the job's."""

from __future__ import annotations

import logging
from pathlib import Path

from millpond.agent.spec import Spec
from millpond.client.commits import COMMIT_SECONDS, find_commit
from millpond.client.http import Api
from millpond.client.paths import dataset_path
from millpond.client.retrying_sender import until_complete
from millpond.client.transfer import ApiDownloader, ApiUploader
from millpond.errors import NotFound
from millpond.lake.push import PushOptions, push_directory
from millpond.model.names import OUTPUT_DATASET
from millpond.model.path import to_text
from millpond.wire.desired import DesiredFill
from millpond.wire.quick.data import Commit, CommitCreate

log = logging.getLogger(__name__)

# The agent itself tries again, and says so meanwhile: one call need not be patient.
PATIENCE_SECONDS = 5.0


def open_source(api: Api, fill: DesiredFill) -> ApiDownloader:
    """Reader of the commit of a fill. The server signs URLs only while the fill is requested."""
    return ApiDownloader(api, fill.project, fill.dataset, fill.commit_id)


def save_outputs(spec: Spec, output: Path) -> str | None:
    """Commit everything below `output` to the job's branch; return the commit's id.

    Can be repeated after any interruption: nothing is uploaded or committed twice.
    """
    with Api(spec.env["MILL_SERVER"], spec.env["MILL_TOKEN"], patience=PATIENCE_SECONDS) as api:
        return until_complete(lambda: _save(api, spec, output))


def _save(api: Api, spec: Spec, output: Path) -> str:
    head = _head(api, spec)
    with ApiUploader(api, spec.project, known_tree=head.tree if head else None) as uploader:
        pushed = push_directory(output, uploader, options=PushOptions(ignore_files=()), warn=_warn)
        if head is not None and head.tree == pushed.tree.root:
            return head.id
        request = CommitCreate(
            upload=uploader.id,
            tree=pushed.tree.root,
            branch=spec.job,
            expected=head.id if head else None,
            message=f"Outputs of job {spec.job}",
        )
    path = f"{dataset_path(spec.project, OUTPUT_DATASET)}/commits"
    return api.send("POST", path, Commit, request, timeout=COMMIT_SECONDS).id


def _head(api: Api, spec: Spec) -> Commit | None:
    try:
        return find_commit(api, spec.project, OUTPUT_DATASET, spec.job)
    except NotFound:
        return None


def _warn(path: bytes, why: str) -> None:
    log.warning("output skipped: %s: %s", to_text(path), why)
