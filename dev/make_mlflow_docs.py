"""Write docs/reference/mlflow.md: every method of MLflow's protocol, and whether it is offered."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from millpond.api.mlflow.methods import METHODS, Method
from millpond.api.mlflow.server import VERSION, is_offered

TARGET = Path(__file__).parent.parent / "docs" / "reference" / "mlflow.md"
TITLES = {
    "MlflowService": "Tracking",
    "ModelRegistryService": "Model registry",
    "MlflowArtifactsService": "Artifacts",
    "WebhookService": "Webhooks",
}


def written() -> str:
    offered = [one for one in METHODS.all if is_offered(one)]
    lines = [
        "# MLflow's methods",
        "",
        f"Methods of the protocol of MLflow {VERSION}, from its client's own files.",
        f"{len(offered)} of {len(METHODS.all)} are offered at `/mlflow/PROJECT/api/2.0/…`;",
        "the others answer 501 with `NOT_IMPLEMENTED`. Written by `make docs`. [How to use it](../mlflow.md)",
    ]
    for service, methods in groupby(sorted(METHODS.all, key=lambda one: (one.service, one.path)), _service):
        lines += ["", f"## {TITLES[service]}", "", "| method | path | offered |", "|---|---|---|"]
        lines += [f"| {one.method} | `{one.path}` | {'yes' if is_offered(one) else 'no'} |" for one in methods]
    return "\n".join(lines) + "\n"


def _service(one: Method) -> str:
    return one.service


if __name__ == "__main__":
    TARGET.write_text(written())
    print(f"wrote {TARGET}")
