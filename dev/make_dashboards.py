"""Writes the Grafana dashboards of deploy/grafana, and the Helm chart's copies of them and of the alert rules.

A part of `make docs`. What is on them is in dev/dashboards.py; the rules are written by hand in
deploy/prometheus/alerts.yaml.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

# As a program it is not in a package.
sys.path.insert(0, str(Path(__file__).parents[1]))

from dev.dashboards import DASHBOARDS, HERE, Dashboard, Panel, Row

DEPLOY = Path(__file__).parents[1] / "deploy"
CHART = DEPLOY / "helm" / "millpond"
RULES = DEPLOY / "prometheus" / "alerts.yaml"
DOCS = "Every number: docs/reference/metrics.md"
_WIDTH, _STAT_HEIGHT, _GRAPH_HEIGHT = 24, 4, 8
_VARIABLES: Mapping[str, tuple[str, str, bool]] = {
    "job": ("Installation", "label_values(millpond_server_info, job)", False),
    "namespace": ("Namespace", 'label_values(millpond_server_info{job=~"$job"}, namespace)', True),
    "site": ("Site", f"label_values(millpond_volume_capacity_bytes{{{HERE}}}, site)", True),
    "project": ("Project", f"label_values(millpond_project_info{{{HERE}}}, project)", True),
}
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def written(dashboard: Dashboard) -> str:
    document = {
        "title": dashboard.title,
        "uid": f"millpond-{dashboard.name}",
        "description": DOCS,
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "tags": ["millpond"],
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "30s",
        "timezone": "browser",
        "links": [
            {
                "type": "dashboards",
                "title": "Millpond",
                "tags": ["millpond"],
                "asDropdown": True,
                "includeVars": True,
                "keepTime": True,
            }
        ],
        "templating": {
            "list": [
                {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
                *(_variable(name) for name in ("job", "namespace", *dashboard.variables)),
            ]
        },
        "panels": list(_panels(dashboard.rows)),
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _variable(name: str) -> dict[str, Any]:
    label, query, has_all = _VARIABLES[name]
    found: dict[str, Any] = {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": _SOURCE,
        "refresh": 2,
        "sort": 1,
        "query": {"query": query, "refId": name},
        "definition": query,
    }
    if has_all:
        everything = {"text": "All", "value": "$__all", "selected": True}
        found |= {"includeAll": True, "multi": True, "allValue": ".*", "current": everything}
    return found


def _panels(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    number, y = 0, 0
    for row in rows:
        number += 1
        place = {"h": 1, "w": _WIDTH, "x": 0, "y": y}
        yield {"id": number, "type": "row", "title": row.title, "collapsed": False, "panels": [], "gridPos": place}
        x, y, height = 0, y + 1, 0
        for panel in row.panels:
            tall = _STAT_HEIGHT if panel.kind == "stat" else _GRAPH_HEIGHT
            if x + panel.width > _WIDTH or (height and tall != height):
                x, y = 0, y + height
            number += 1
            yield _panel(panel, number, {"h": tall, "w": panel.width, "x": x, "y": y})
            x, height = x + panel.width, tall
        y += height


def _panel(panel: Panel, number: int, place: Mapping[str, int]) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit}
    if panel.kind == "stat":
        steps = [{"color": "green", "value": None}, *({"color": name, "value": value} for name, value in panel.steps)]
        defaults |= {"color": {"mode": "thresholds"}, "thresholds": {"mode": "absolute", "steps": steps}}
        options: dict[str, Any] = {
            "colorMode": "value",
            "graphMode": "area",
            "reduceOptions": {"calcs": ["lastNotNull"], "values": False},
        }
    else:
        custom: dict[str, Any] = {"fillOpacity": 20 if panel.stacked else 5, "showPoints": "never"}
        if panel.stacked:
            custom["stacking"] = {"mode": "normal", "group": "A"}
        defaults |= {"min": 0, "custom": custom}
        options = {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    targets = [
        {
            "refId": chr(ord("A") + place),
            "datasource": _SOURCE,
            "expr": expr,
            "legendFormat": legend or "__auto",
            "instant": panel.kind == "stat",
            "range": panel.kind != "stat",
        }
        for place, (expr, legend) in enumerate(panel.queries)
    ]
    return {
        "id": number,
        "title": panel.title,
        "description": panel.text,
        "type": panel.kind,
        "datasource": _SOURCE,
        "gridPos": dict(place),
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": options,
        "targets": targets,
    }


def files() -> dict[Path, str]:
    """The contents of each file to write."""
    found = {}
    for dashboard in DASHBOARDS:
        for folder in (DEPLOY / "grafana", CHART / "dashboards"):
            found[folder / f"{dashboard.name}.json"] = written(dashboard)
    found[CHART / "rules" / "alerts.yaml"] = RULES.read_text()
    return found


if __name__ == "__main__":
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    print(f"wrote {DEPLOY / 'grafana'} and the chart's copies", file=sys.stderr)
