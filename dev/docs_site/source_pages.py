"""MkDocs hook: files of the project that pages link to, from the changelog to examples, become pages below `source/`.

The site is read where no code host is: a link that leaves docs/ leads to the file as it was when the site was built.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "source"
LIST = ".linked"
# Reached by the navigation, not by a link.
ALWAYS = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
_LINK = re.compile(r"(?<=\]\()(?!\w+:|#|/)([^)\s#]+)(#[^)\s]*)?(?=\))")
_LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".sh": "sh", ".json": "json"}
_HIDDEN = ("__pycache__", "node_modules")

# Where the text of each generated page lies in the project.
_names: dict[str, str] = {}


def on_files(files: Any, config: Any) -> Any:
    _names.clear()
    waiting = list(ALWAYS)
    for file in files.documentation_pages():
        waiting += _outside(file.content_string, f"docs/{file.src_uri}")
    known: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in known:
            known.add(name)
            waiting += _outside(_text(name), _origin(name))
    # A folder that is linked shows its README, too.
    for name in sorted(known - {f"{folder}/README.md" for folder in known}):
        _names[_page(name)] = _origin(name)
        files.append(File.generated(config, _page(name), content=_text(name)))
    return files


def on_post_build(config: Any) -> None:
    """Leave the names of these files for `dev/build_docs.py`, which builds again when one changes."""
    names = sorted(name for name in _names.values() if (ROOT / name).is_file())
    Path(config.site_dir, LIST).write_text("\n".join(names))


def on_page_markdown(markdown: str, page: Any, files: Any, **_: Any) -> str:
    """Lead links of this page to files outside docs/ to their pages."""
    here = page.file.src_uri
    folder = posixpath.dirname(_names.get(here, f"docs/{here}"))

    def turned(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[1]))
        uri = target.removeprefix("docs/") if target.startswith("docs/") else _page(target)
        if files.get_file_from_path(uri) is None:
            return link[0]
        return posixpath.relpath(uri, posixpath.dirname(here) or ".") + (link[2] or "")

    return _LINK.sub(turned, markdown)


def _outside(text: str, name: str) -> Iterator[str]:
    """Files and folders outside docs/ that a text at this place of the project links to."""
    for link in _LINK.finditer(text):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), link[1]))
        if not target.startswith(("docs/", "../")) and target not in ("docs", ".") and (ROOT / target).exists():
            yield target


def _origin(name: str) -> str:
    """The file whose place its links begin at."""
    return f"{name}/README.md" if (ROOT / name).is_dir() else name


def _page(name: str) -> str:
    """The page of a file, or of a folder, which is that of its README, too."""
    if (ROOT / name).is_dir():
        return f"{FOLDER}/{name}/index.md"
    if name.endswith("/README.md"):
        return f"{FOLDER}/{posixpath.dirname(name)}/index.md"
    if name.endswith(".md"):
        return f"{FOLDER}/{name}"
    # No folder of the site ends with .py: whoever looks for modules below src/ takes it for one.
    return f"{FOLDER}/{posixpath.dirname(name)}/{posixpath.basename(name).replace('.', '-')}.md"


def _text(name: str) -> str:
    path = ROOT / name
    if path.is_dir():
        readme = path / "README.md"
        head = readme.read_text("utf-8") if readme.is_file() else f"# `{name}/`\n"
        shown = sorted(one.name for one in path.iterdir() if one.name not in _HIDDEN and one.name[0] != ".")
        return f"{head}\n## Files\n\n" + "".join(f"- [{one}]({one})\n" for one in shown)
    text = path.read_text("utf-8")
    if name.endswith(".md"):
        return text
    fence = "`" * (3 + max((len(run) for run in re.findall(r"`{3,}", text)), default=0))
    language = _LANGUAGES.get(path.suffix, "text")
    return f"---\nsearch: {{exclude: true}}\n---\n# `{name}`\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"
