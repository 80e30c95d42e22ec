"""A mirror of very many small files to a bucket of a real S3 server: the first run, and runs that find nothing new."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from benchmarks.measure import timed
from benchmarks.millpond_server import Mill
from millpond.client.connections import create_connection
from millpond.client.mirrors import create_mirror, get_mirror, run_mirror, wait_for_run
from millpond.testing.seaweed import CREDENTIALS, Seaweed
from millpond.wire.imports import ConnectionCreate
from millpond.wire.mirrors import Mirror, MirrorCreate, MirrorResult

PROJECT = "default"
ROUNDS = 3


def mirrored(mill: Mill, seaweed: Seaweed, tree: Path) -> dict[str, float]:
    """Of the tree, which becomes a dataset. Raises unless later runs send nothing."""
    mill.run("data", "init", "mirrored", cwd=tree)
    mill.run("data", "sync", cwd=tree)
    keys = {"key_id": CREDENTIALS["AWS_ACCESS_KEY_ID"], "secret": CREDENTIALS["AWS_SECRET_ACCESS_KEY"]}
    place = {"url": f"s3://{seaweed.bucket}/mirrored", "endpoint": seaweed.endpoint, "credentials": keys}
    with mill.api() as api:
        create_connection(
            api, PROJECT, ConnectionCreate.model_validate({"name": "bucket", "writable": True, **place})
        )  # fmt: skip
        asked = MirrorCreate(source="mirrored", target=f"s3://{seaweed.bucket}/mirrored", every_seconds=86_400)
        made = create_mirror(api, PROJECT, asked)
        first = timed(lambda: _checked(wait_for_run(api, made)))
        count = _result(get_mirror(api, PROJECT, made.id)).copied
        before = mill.server_cpu_seconds
        unchanged = []
        for _ in range(ROUNDS):
            unchanged.append(timed(lambda: _checked(wait_for_run(api, run_mirror(api, PROJECT, made.id)))))
            result = _result(get_mirror(api, PROJECT, made.id))
            if (result.copied_bytes, result.copied, result.unchanged) != (0, 0, count):
                raise RuntimeError(f"a run that finds nothing new sends nothing: {result}")
        used = (mill.server_cpu_seconds - before) / ROUNDS
    return {
        "mirrored_files": float(count),
        "mirror_first_600k_s": first,
        "mirror_unchanged_600k_s": median(unchanged),
        "mirror_unchanged_server_cpu_s": used,
    }


def _checked(mirror: Mirror) -> None:
    if mirror.problem is not None:
        raise RuntimeError(mirror.problem)


def _result(mirror: Mirror) -> MirrorResult:
    assert mirror.result is not None
    return mirror.result
