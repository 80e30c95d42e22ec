"""Saving the text of a flow leaves the files beside it alone; a zip replaces them."""

from __future__ import annotations

import io
import zipfile

from millpond.testing.server import RunningServer

FLOW = "schema: millpond.flow/1\nname: words\nsteps:\n  one:\n    command: [python, one.py]\n    code: ./steps\n"
FLOWS = "/projects/default/flows"


def zipped(files: dict[str, str]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("flow.yaml", FLOW)
        for path, text in files.items():
            archive.writestr(path, text)
    return target.getvalue()


def test_the_text_alone_is_saved_beside_the_files_that_are_there(server: RunningServer) -> None:
    refused = server.admin.put(f"{FLOWS}/words", content=FLOW)
    assert refused.status_code == 422
    assert "There are no files in './steps'" in refused.json()["detail"]
    server.admin.put(f"{FLOWS}/words", content=zipped({"steps/one.py": "print(1)\n"})).raise_for_status()

    changed = FLOW + "    timeout: 5m\n"
    saved = server.admin.put(f"{FLOWS}/words", content=changed, headers={"If-Match": '"1"'})
    assert saved.json()["version"] == 2
    shown = server.admin.get(f"{FLOWS}/words").json()
    assert (shown["text"], shown["files"]) == (changed, ["steps/one.py"])

    moved = changed.replace("./steps", "./elsewhere")
    problems = server.admin.post(f"{FLOWS}:validate", content=moved, params={"flow": "words"}).json()["problems"]
    assert [one["path"] for one in problems] == ["steps.one.code"]
    assert server.admin.post(f"{FLOWS}:validate", content=changed, params={"flow": "words"}).json()["problems"] == []


def test_a_zip_holds_all_files(server: RunningServer) -> None:
    server.admin.put(f"{FLOWS}/words", content=zipped({"steps/one.py": "1", "other.py": "2"})).raise_for_status()
    server.admin.put(f"{FLOWS}/words", content=zipped({"steps/one.py": "1"})).raise_for_status()
    assert server.admin.get(f"{FLOWS}/words").json()["files"] == ["steps/one.py"]
