"""Write docs/reference/dataops.md: every verb of the DataOps Toolkit, and what it is here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from millpond.dataops.verbs import Verb
from millpond.dataops.verbs_kubernetes import KUBERNETES
from millpond.dataops.verbs_traditional import TRADITIONAL

TARGET = Path(__file__).parent.parent / "docs" / "reference" / "dataops.md"
HEAD = """# NetApp's DataOps Toolkit

Scripts and notebooks of the [DataOps Toolkit](https://github.com/NetApp/netapp-dataops-toolkit) run on any disk
by changing the import; its commands run as `mill dataops …`.

| there | here |
|---|---|
| `from netapp_dataops.traditional import …` | `from millpond.dataops.traditional import …` |
| `from netapp_dataops.k8s import …` | `from millpond.dataops.k8s import …` |
| `netapp_dataops_cli.py VERB NOUN …` | `mill dataops VERB NOUN …` |
| `netapp_dataops_k8s_cli.py VERB NOUN …` | `mill dataops k8s VERB NOUN …` |
| volume, persistent volume claim | [workspace](../workspaces.md) |
| namespace (`default`: the current one) | project |
| storage class | volume, or storage class of a Kubernetes cluster |
| snapshot, VolumeSnapshot | snapshot of a workspace |
| Cloud Sync relationship | [source](../imports.md) of a dataset, or mirror to a bucket |
| SnapMirror relationship | mirror to another site: the target SVM is the site, the target volume the mirror's name |

Arguments that only concern ONTAP or Kubernetes objects (SVM, export policy, aggregate, snapshot class, labels …) are
taken and have no effect; with `print_output=True` the function says so. Exceptions have the toolkit's names, in the
same module. JupyterLab has no password: the address that the functions return is a page that lets in whoever may use
the workspace, and without an image JupyterLab is that of the compute, or installed for the session. S3 verbs copy
between this machine and the bucket, through the connection of the project that covers it (`mill connection add`):
only what differs, verified, and never over what somebody has changed on the other side. A SnapMirror relationship
brings the newest snapshot of a workspace to the site now and again: by the name of an ONTAP schedule (`5min`,
`hourly`, `8hour`, `daily`, `weekly` …) or a time (`15m`), hourly without one. It runs as soon as it is there, with or
without an action, and nothing appears at the site by the name of the target volume: clone the workspace there (`mill
workspace clone`). `mount` shows a workspace by a symbolic link where the machine has its volume. Functions have their
older names as well (`createVolume(volumeName=…)`), functions that are refused can be imported and say so when they are
called. Names of workspaces have no capital letters: volume `taxiData` is workspace `taxidata`. `mill dataops help` and
`mill dataops create volume --help` list commands and options. Written by `make docs`.
"""


def written() -> str:
    return "\n".join([HEAD, *_table("Traditional", TRADITIONAL), "", *_table("Kubernetes", KUBERNETES), ""])


def _table(title: str, verbs: Sequence[Verb]) -> list[str]:
    lines = [f"## {title}", "", "| command | function | here |", "|---|---|---|"]
    for verb in verbs:
        function = f"`{verb.function}`" if verb.function else "–"
        here = _code(verb.here) if verb.here else f"refused: {verb.refused}"
        lines.append(f"| `{verb.command}` | {function} | {here} |")
    return lines


def _code(here: str) -> str:
    """Commands as such; several are set apart by a semicolon, and what is no command stands as it is."""
    return ", ".join(f"`{part}`" if part.startswith(("mill ", "umount ")) else part for part in here.split("; "))


if __name__ == "__main__":
    TARGET.write_text(written())
    print(f"wrote {TARGET}")
