"""Write docs/reference/dataops.md: every verb of the DataOps Toolkit, and what it is here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from millpond.dataops.verbs import KUBERNETES, TRADITIONAL, Verb

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
| storage class | volume |
| snapshot, VolumeSnapshot | snapshot of a workspace |

Arguments that only concern ONTAP or Kubernetes objects (SVM, export policy, aggregate, snapshot class, labels …) are
taken and have no effect; with `print_output=True` the function says so. Exceptions have the toolkit's names, in the
same module. `mount` shows a workspace by a symbolic link where the machine has its volume. Written by `make docs`.
"""


def written() -> str:
    return "\n".join([HEAD, *_table("Traditional", TRADITIONAL), "", *_table("Kubernetes", KUBERNETES), ""])


def _table(title: str, verbs: Sequence[Verb]) -> list[str]:
    lines = [f"## {title}", "", "| command | function | here |", "|---|---|---|"]
    for verb in verbs:
        function = f"`{verb.function}`" if verb.function else "–"
        here = f"`{verb.here}`" if verb.here else f"refused: {verb.refused}"
        lines.append(f"| `{verb.command}` | {function} | {here} |")
    return lines


if __name__ == "__main__":
    TARGET.write_text(written())
    print(f"wrote {TARGET}")
