"""Parses values from the text that an interpreter printed for them."""

from __future__ import annotations

import ast
import re
from typing import Any

_TOKEN = re.compile(r"""\s*(?:(?P<open>[\[({])|(?P<close>[\])}])|(?P<mark>[,:])
    |(?P<value>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|True|False|None))\s*""", re.VERBOSE)
_TEXT_MAX = 4 << 20


def literal(text: str) -> Any:
    """Parses lists, tuples, dicts, strings, numbers, True, False and None in Python's notation; raises ValueError for anything else.

    The text comes from a session, which may be hostile. Anything that could nest without brackets (operators, calls) is therefore
    rejected before Python's parser sees it, and brackets are limited by that parser."""
    at, after_value = 0, False
    if len(text) > _TEXT_MAX:
        raise ValueError("too long")
    while at < len(text):
        token = _TOKEN.match(text, at)
        if not token or (after_value and (token["open"] or token["value"])):
            raise ValueError("not a literal")
        after_value = bool(token["close"] or token["value"])
        at = token.end()
    try:
        return ast.literal_eval(text.strip())
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError("not a literal") from error
