"""Exceptions as text: a standard Python traceback that starts at the user's code and has a bounded length."""

import os
import sys
import traceback
from types import TracebackType

import IPython
from IPython.core.error import UsageError

TRACEBACK_MAX = 32 << 10  # characters; the first quarter and the end are kept
MESSAGE_MAX = 16 << 10
NAME_MAX = 200
FRAMES_MAX = 3000  # more (a raised recursion limit) would take seconds to look up

_KERNEL_FOLDERS = tuple(os.path.dirname(path) + os.sep for path in (__file__, IPython.__file__))


def shorten(text, limit, what="characters"):
    """The head and the tail of a text that is too long: the end of an error says most."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 4], text[-(limit - limit // 4):]
    return f"{head}\n[... {len(text) - limit:,} {what} left out ...]\n{tail}"


def _is_ours(code):
    return code.co_filename.startswith(_KERNEL_FOLDERS)


def _users_frames(tb):
    """A copy of the traceback without the frames of the kernel and of IPython."""
    entries = []
    while tb is not None:
        if not _is_ours(tb.tb_frame.f_code):
            entries.append(tb)
        tb = tb.tb_next
    if len(entries) > FRAMES_MAX:
        entries[FRAMES_MAX // 2: -FRAMES_MAX // 2] = []
    chain = None
    for tb in reversed(entries):
        chain = TracebackType(chain, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    return chain


def _strip(error):
    """Strips the tracebacks of an exception and of all that hang on it."""
    seen, todo = set(), [error]
    while todo:
        error = todo.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        error.__traceback__ = _users_frames(error.__traceback__)
        todo += [error.__cause__, error.__context__]
        if isinstance(error, BaseExceptionGroup):
            todo += error.exceptions


def _format(error):
    _strip(error)
    told = traceback.TracebackException.from_exception(error)
    if error.__traceback__ is None:
        told.stack = None  # no "Traceback" line above nothing: a syntax error of the cell itself
    return "".join(told.format()).rstrip("\n")


def plain_traceback(error):
    """The traceback as Python prints it; always a string, whatever the exception's own methods do."""
    if isinstance(error, UsageError):  # a mistake in the use of a magic: the sentence says it all
        return f"UsageError: {error}"
    try:
        text = _format(error)
    except (RecursionError, MemoryError):  # the error report must not be the next error
        text = f"{type(error).__name__}: {_message(error)}\n[the traceback could not be made]"
    return shorten(text, TRACEBACK_MAX)


def _message(error):
    try:
        return str(error)
    except Exception:
        return "<exception str() failed>"


def _explain_exit(error):
    code = error.code
    said = f"exit status {int(code or 0)}" if code is None or isinstance(code, int) else _message(error)
    return f"{said} (the cell ended here; the session goes on and keeps its variables)"


def report(error):
    """The fields of the link's `error` message."""
    message = _explain_exit(error) if isinstance(error, SystemExit) else _message(error)
    return {
        "type": type(error).__name__[:NAME_MAX],
        "message": shorten(message, MESSAGE_MAX),
        "traceback": plain_traceback(error),
    }


def exit_status(error):
    """What a process whose code ended like this exits with."""
    if error is None:
        return 0
    if not isinstance(error, SystemExit):
        return 1
    if error.code is None or isinstance(error.code, int):
        return int(error.code or 0) & 0xFF
    return 1


def print_plain(error):
    """For errors that do not end the cell: the same text, on stderr."""
    try:
        print(plain_traceback(error), file=sys.stderr, flush=True)
    except Exception:
        pass  # the user's sys.stderr
