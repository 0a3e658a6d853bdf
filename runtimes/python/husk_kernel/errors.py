"""Exceptions as text: a standard Python traceback that starts at the user's code and has a bounded length.

The error that ends a cell is shown without most of the frames inside libraries. It keeps the user's own lines, the
line that entered the library and the line that raised. sys.last_exc has all frames, for %tb and
traceback.print_last().
"""

import linecache
import os
import sys
import traceback
from types import TracebackType

import IPython
from IPython.core.error import UsageError

TRACEBACK_MAX = 32 << 10  # characters; the first quarter and the end are kept
MESSAGE_MAX = 16 << 10
NAME_MAX = 200
FRAMES_MAX = 3000  # more (after the recursion limit was raised) would take seconds to look up

# Minimum number of frames to leave out between two kept ones, since the note about them takes a line itself.
FOLD_MIN = 2
# A cause is left out if its message has at least this many characters and is part of the next exception's message.
REPEATED_MIN = 20
_LIBRARIES = (os.path.dirname(os.__file__) + os.sep, "/opt/husk/", "<frozen ", "<__array_function__", "<decorator-gen")
_PACKAGES = ("/site-packages/", "/dist-packages/")
_CYTHON = (".pyx", ".pxi", ".pxd")  # paths in tracebacks are those of the machine that compiled them
_KERNEL_FOLDERS = tuple(os.path.dirname(path) + os.sep for path in (__file__, IPython.__file__))


def shorten(text, limit, what="characters"):
    """Reduce a text that is too long to its head and tail. The tail is longer: the end of an error is most useful."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 4], text[-(limit - limit // 4):]
    return f"{head}\n[... {len(text) - limit:,} {what} left out ...]\n{tail}"


def _is_ours(code):
    return code.co_filename.startswith(_KERNEL_FOLDERS)


def _users_frames(tb):
    """Return a copy of the traceback without the frames of the kernel and of IPython."""
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
    """Reduces the tracebacks of an exception, and of its causes and contexts, to the user's frames."""
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


def _is_library(frame):
    name = frame.filename
    return name.startswith(_LIBRARIES) or name.endswith(_CYTHON) or any(folder in name for folder in _PACKAGES)


class _Gap(traceback.FrameSummary):
    """Replaces frames that are left out."""

    def __init__(self, count, hint):
        super().__init__("", None, f"{count}")
        self.text = f"  [... {count} library frames{hint} ...]\n"


class _Folded(traceback.StackSummary):
    def format_frame_summary(self, frame_summary, **options):
        return frame_summary.text if isinstance(frame_summary, _Gap) else super().format_frame_summary(frame_summary, **options)


def _unmarked(frame):
    """Return the frame without ^^^^ marks under its line, because only the user's own lines have them."""
    return traceback.FrameSummary(frame.filename, frame.lineno, frame.name, lookup_line=False)


def _fold_run(run, first, last, hint):
    """Fold consecutive library frames: keep the first if the user's code called it, and the last if it raised."""
    hidden = len(run) - first - last
    frames = [_unmarked(frame) for frame in run]
    if hidden >= FOLD_MIN:
        frames[first: len(run) - last] = [_Gap(hidden, hint)]
    return frames


def _fold(stack, hint=""):
    folded, run, entered = _Folded(), [], False
    for frame in [*stack, None]:
        if frame is not None and _is_library(frame):
            run.append(frame)
            continue
        folded += _fold_run(run, entered, frame is None, hint)
        if frame is not None:
            folded.append(frame)
        run, entered = [], True
    return folded


def _cause(link):
    return link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _is_repeated(cause, link):
    """True if the cause was raised inside libraries and the next exception repeats its message."""
    if cause is None or cause.exceptions or not all(map(_is_library, cause.stack)):
        return False
    said, again = str(cause), str(link)
    return said == again if cause.exc_type_str == link.exc_type_str else len(said) >= REPEATED_MIN and said in again


def _skip_repeated(link):
    cause = _cause(link)
    while _is_repeated(cause, link):
        cause = _cause(cause)
    if link.__cause__:
        link.__cause__ = cause
        link.__suppress_context__ = True
    else:
        link.__context__ = cause


def _fold_all(told):
    """Folds the frames of an exception and of its causes and contexts. In the middle of a chain, exceptions without a
    line of the user's code are reduced to their message, and left out if the message is repeated later.
    """
    links, seen = [told], set()
    while links:
        link = links.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        _skip_repeated(link)
        cause = _cause(link)
        if link.stack:
            hidden = link is not told and cause is not None and all(map(_is_library, link.stack))
            link.stack = None if hidden else _fold(link.stack, "" if link is not told else ": %tb shows them")
        links += [link.__cause__, link.__context__, *(link.exceptions or ())]


def _give_line(error):
    """Add the text of the line to a SyntaxError: the compiler got a syntax tree here and does not know the text."""
    if isinstance(error, SyntaxError) and error.text is None and error.filename and error.lineno:
        error.text = linecache.getline(error.filename, error.lineno) or None


def _format(error, full):
    _strip(error)
    _give_line(error)
    told = traceback.TracebackException.from_exception(error, lookup_lines=full)
    if error.__traceback__ is None:
        told.stack = None  # a syntax error of the cell itself: no "Traceback" line, since no frames follow
    if not full:
        _fold_all(told)
    return "".join(told.format()).rstrip("\n")


def plain_traceback(error, full=False):
    """The traceback as Python prints it; always a string, whatever the exception's own methods do."""
    if isinstance(error, UsageError):  # a magic was used wrongly: its message is enough
        return f"UsageError: {error}"
    try:
        text = _format(error, full)
    except (RecursionError, MemoryError):  # reporting an error must not raise another
        text = f"{type(error).__name__}: {_message(error)}\n[the traceback failed]"
    return shorten(text, TRACEBACK_MAX)


def _message(error):
    try:
        return str(error)
    except Exception:
        return "<exception str() failed>"


def _explain_exit(error):
    code = error.code
    said = f"exit status {int(code or 0)}" if code is None or isinstance(code, int) else _message(error)
    return f"{said} (the cell ended here; the session keeps its variables)"


def report(error):
    """Return the fields of the link's `error` message, and store the exception in sys.last_exc."""
    message = _explain_exit(error) if isinstance(error, SystemExit) else _message(error)
    fields = {
        "type": type(error).__name__[:NAME_MAX],
        "message": shorten(message, MESSAGE_MAX),
        "traceback": plain_traceback(error),
    }
    if isinstance(error, SystemExit):
        fields["exit_code"] = exit_status(error)
    else:
        sys.last_exc = sys.last_value = error
        sys.last_type, sys.last_traceback = type(error), error.__traceback__
    return fields


def last():
    """Return the exception that last ended a cell, if any."""
    error = getattr(sys, "last_exc", None)
    return error if isinstance(error, BaseException) else None


def exit_status(error):
    """Return the exit status of a process whose code ended with this error (None = no error)."""
    if error is None:
        return 0
    if not isinstance(error, SystemExit):
        return 1
    if error.code is None or isinstance(error.code, int):
        return int(error.code or 0) & 0xFF
    return 1


def print_plain(error, full=False):
    """Print the same traceback on stderr, for errors that do not end the cell."""
    try:
        print(plain_traceback(error, full), file=sys.stderr, flush=True)
    except Exception:
        pass  # the user has replaced sys.stderr with something that fails
