"""MkDocs hook: blocks of commands, `$ mill …` with what it prints below, look like it, and only commands are copied."""

from __future__ import annotations

import html
import re
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import BashSessionLexer

_PLAIN = re.compile(r"<pre><span></span><code>(\$ .*?)</code></pre>", re.DOTALL)
_FORMAT = HtmlFormatter(nowrap=True)


def on_page_content(content: str, **_: Any) -> str:
    return _PLAIN.sub(_colored, content)


def _colored(block: re.Match[str]) -> str:
    text = html.unescape(re.sub(r"<[^>]*>", "", block[1]))
    return f"<pre><span></span><code>{highlight(text, BashSessionLexer(), _FORMAT)}</code></pre>"
