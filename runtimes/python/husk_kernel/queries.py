"""Answers the queries of consoles and editors while a user types: completion, help, whether code is complete. The
answers are IPython's own, without jedi, which takes a tenth of a second to load and seconds to answer.

Some queries run user code (__dir__, __repr__). The output of this code is dropped, and SIGINT ends it.
"""

import sys
import threading
import warnings

from IPython.core.interactiveshell import InteractiveShell

from . import display
from .imports import own_modules
from .interrupts import interrupts

MATCHES_MAX = 1000
MATCHES_BYTES = 150_000  # including JSON's overhead, less than ANSWER_BYTES_MAX in kernels/protocol.h
TEXT_MAX = 30_000


class Queries:
    def __init__(self, shell):
        self._shell = shell

    def answer(self, message):
        """Return the fields of the answer to a query."""
        find = {"complete": self._complete, "inspect": self._inspect, "is_complete": self._is_complete}[message["op"]]
        interrupts.left = False
        try:
            interrupts.querying = True
            fields = self._find(find, message)
            interrupts.querying = False
        except KeyboardInterrupt:  # the query took too long, or a cell has arrived
            interrupts.querying = False
            return {"status": "timeout"}
        return {"status": "ok", **fields}

    def _find(self, find, message):
        with _Muted("stdout"), _Muted("stderr"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return find(message["code"], message)
            except Exception:  # raised by the user's objects, or by IPython because of them
                return {}

    def _complete(self, code, message):
        with own_modules:
            from IPython.core.completer import provisionalcompleter, rectify_completions

        cursor = min(message["cursor"], len(code))
        code = code[:cursor]  # IPython 8 finds no attributes in the middle of a line
        completer = self._completer()
        with provisionalcompleter():
            found = list(rectify_completions(code, completer.completions(code, cursor)))
        if interrupts.left:  # at an interrupt IPython stops searching and returns what it has found
            raise KeyboardInterrupt
        if not found:
            return {"matches": [], "start": cursor, "end": cursor}
        texts, start = [completion.text for completion in found], found[0].start
        if all(completion.type != "path" for completion in found):
            texts, start = _without_path(texts, code, found[0])
        matches, more = _bounded(dict.fromkeys(texts))
        return {"matches": matches, "start": start, "end": found[0].end, "more": more}

    def _completer(self):
        if self._shell.Completer is None:
            hidden = "jedi" not in sys.modules
            if hidden:
                sys.modules["jedi"] = None
            try:
                with own_modules:
                    InteractiveShell.init_completer(self._shell)
            finally:
                if hidden:
                    del sys.modules["jedi"]
            self._shell.Completer.use_jedi = False
        return self._shell.Completer

    def _inspect(self, code, message):
        with own_modules:
            from IPython.utils.tokenutil import token_at_cursor

        name = token_at_cursor(code, min(message["cursor"], len(code)))
        try:
            bundle = self._shell.object_inspect_mime(name, detail_level=message.get("detail", 0))
        except KeyError:
            return {"found": False}
        text = display.valid_text(bundle["text/plain"])
        if len(text) > TEXT_MAX:
            text = text[:TEXT_MAX] + "\n…"
        return {"found": True, "data": {"text/plain": text}}

    def _is_complete(self, code, _message):
        state, indent = self._shell.check_complete(code)
        return {"completeness": state, "indent": indent or ""}


def _without_path(texts, code, place):
    """Reduce matches such as `math.pi` and `.pi` to the last name; return them and where that name starts."""
    path = code[place.start : place.end].rpartition(".")
    path = path[0] + path[1]
    if not all(text.startswith(path) for text in texts):
        return texts, place.start
    return [text[len(path) :] for text in texts], place.start + len(path)


def _bounded(texts):
    """Return the matches that fit into an answer, and whether there are more."""
    matches, size = [], 0
    for text in map(display.valid_text, texts):
        size += len(text.encode()) + 4
        if len(matches) == MATCHES_MAX or size > MATCHES_BYTES:
            return matches, True
        matches.append(text)
    return matches, False


class _Muted:
    """Replaces sys.stdout or sys.stderr: output of the main thread is dropped, output of the user's threads is not."""

    def __init__(self, name):
        self._name = name
        self._main = threading.get_ident()

    def __enter__(self):
        self._real = getattr(sys, self._name)
        setattr(sys, self._name, self)

    def __exit__(self, *_exc):
        if getattr(sys, self._name) is self:
            setattr(sys, self._name, self._real)

    def write(self, text):
        return len(text) if threading.get_ident() == self._main else self._real.write(text)

    def __getattr__(self, name):
        return getattr(self._real, name)
