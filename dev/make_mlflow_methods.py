"""Write src/millpond/api/mlflow/methods.txt from the protobuf files of an installed MLflow client.

python dev/make_mlflow_methods.py        # in an environment with mlflow-skinny
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

TARGET = Path(__file__).parent.parent / "src" / "millpond" / "api" / "mlflow" / "methods.txt"
SERVICES = ("MlflowService", "ModelRegistryService", "MlflowArtifactsService", "WebhookService")


def main() -> None:
    import mlflow  # noqa: PLC0415
    from mlflow import protos  # noqa: PLC0415
    from mlflow.protos import databricks_pb2  # noqa: PLC0415

    lines = {f"# Methods of MLflow {mlflow.__version__}: service, name, HTTP method, path, version of the API"}
    for module in pkgutil.iter_modules(protos.__path__):
        if not module.name.endswith("_pb2"):
            continue
        described = importlib.import_module(f"mlflow.protos.{module.name}").DESCRIPTOR
        for service in described.services_by_name.values():
            if service.name not in SERVICES:
                continue
            for method in service.methods:
                for endpoint in method.GetOptions().Extensions[databricks_pb2.rpc].endpoints:
                    path = re.sub(r"<path:([^>]*)>", r"{\1:path}", endpoint.path.lstrip("/"))
                    lines.add(f"{service.name} {method.name} {endpoint.method} {path} {endpoint.since.major}")
    TARGET.write_text("\n".join(sorted(lines)) + "\n")
    print(f"wrote {TARGET}: {len(lines) - 1} methods")


if __name__ == "__main__":
    main()
