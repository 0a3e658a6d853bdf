"""libhusk through ctypes: the structures of husk.h, and calls that raise exceptions. No other file of the package deals with C."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import os
import pathlib
import re
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double, c_int, c_size_t, c_uint64, c_void_p
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

from .errors import HuskError, error_for

Text = c_char_p


class Error(Structure):
    _fields_ = [("kind", Text), ("cause", Text), ("message", Text), ("hint", Text)]


class Settings(Structure):
    _fields_ = [("size", c_size_t), ("values", POINTER(Text)), ("use_environment", c_int), ("use_file", c_int), ("file", Text),
                ("keep_sessions", c_int), ("program", Text)]


class ConversationOptions(Structure):
    _fields_ = [("size", c_size_t), ("id", Text), ("own", c_int), ("max_sessions", c_uint64)]


IDLE = CFUNCTYPE(c_int, c_void_p)
INSTALL_OUTPUT = CFUNCTYPE(None, c_void_p, POINTER(ctypes.c_char), c_size_t)
RUN_OUTPUT = CFUNCTYPE(None, c_void_p, c_int, POINTER(ctypes.c_char), c_size_t)
PROGRESS = CFUNCTYPE(None, c_void_p, Text)


class Wait(Structure):
    _fields_ = [("size", c_size_t), ("deadline_ms", c_uint64), ("cancel", c_void_p), ("on_idle", IDLE), ("ctx", c_void_p)]


class Create(Structure):
    _fields_ = [("size", c_size_t), ("language", Text), ("dependencies", POINTER(Text)), ("network", c_int),
                ("on_output", INSTALL_OUTPUT), ("ctx", c_void_p), ("env", POINTER(Text)), ("cwd", Text),
                ("memory", c_uint64), ("disk", c_uint64), ("cpus", c_double), ("image", Text), ("name", Text),
                ("network_hosts", POINTER(Text)), ("secrets", POINTER(Text))]


class SessionInfo(Structure):
    _fields_ = [("id", Text), ("language", Text), ("status", Text), ("dependencies", Text), ("age_seconds", c_uint64),
                ("idle_seconds", c_uint64), ("conversation", Text), ("owner", Text), ("left_seconds", c_uint64), ("memory", c_uint64),
                ("memory_limit", c_uint64), ("disk_limit", c_uint64), ("cpus", c_double), ("name", Text), ("note", Text)]


class Sessions(Structure):
    _fields_ = [("n", c_size_t), ("v", POINTER(POINTER(SessionInfo))), ("unsure", Text)]


class Run(Structure):
    _fields_ = [("size", c_size_t), ("timeout", c_uint64), ("on_output", RUN_OUTPUT), ("ctx", c_void_p), ("env", POINTER(Text)),
                ("cwd", Text), ("has_wait", c_int), ("wait_seconds", c_uint64), ("run", c_uint64), ("interrupt", c_int), ("restart", c_int),
                ("interactive", c_int), ("rows", c_int), ("cols", c_int), ("input", Text), ("branch", Text)]


class Checkpoint(Structure):
    _fields_ = [("name", Text), ("run", c_uint64), ("age_ms", c_uint64), ("bytes", c_uint64), ("n_lost", c_size_t), ("lost", POINTER(Text)),
                ("state", Text), ("n_runs", c_size_t), ("runs", POINTER(c_uint64))]


class Restored(Structure):
    _fields_ = [("name", Text), ("run", c_uint64), ("n_missing", c_size_t), ("missing", POINTER(c_uint64)), ("n_lost", c_size_t),
                ("lost", POINTER(Text)), ("n_files", c_size_t), ("files", POINTER(Text)), ("more_files", c_int)]


class Checkpoints(Structure):
    _fields_ = [("saved", POINTER(Checkpoint)), ("restored", POINTER(Restored)), ("note", Text), ("n", c_size_t),
                ("v", POINTER(POINTER(Checkpoint))), ("n_branches", c_size_t), ("branches", POINTER(POINTER(Checkpoint))),
                ("n_dropped", c_size_t), ("dropped", POINTER(Text))]


class Part(Structure):
    _fields_ = [("type", Text), ("data", c_void_p), ("n", c_size_t)]


class Bundle(Structure):
    _fields_ = [("n", c_size_t), ("parts", POINTER(POINTER(Part)))]


class Result(Structure):
    pass


Result._fields_ = [
    ("ending", Text), ("detail", Text), ("cause", Text), ("out", Text), ("err", Text), ("out_bytes", c_uint64), ("err_bytes", c_uint64),
    ("out_truncated", c_int), ("err_truncated", c_int), ("value", POINTER(Bundle)), ("n_displays", c_size_t),
    ("displays", POINTER(POINTER(Bundle))), ("displays_dropped", c_uint64), ("error_type", Text), ("error_message", Text),
    ("error_traceback", Text), ("has_exit_code", c_int), ("exit_code", c_int), ("signal", c_int), ("duration_ms", c_uint64),
    ("memory_peak", c_uint64), ("memory_limit", c_uint64), ("oom_kills", c_uint64), ("kernel_restarted", c_int), ("session_gone", c_int),
    ("notice", Text), ("n_earlier", c_size_t), ("earlier", POINTER(POINTER(Result))), ("run", c_uint64), ("queued", c_int),
    ("behind", c_uint64), ("lost", Text), ("n_running", c_size_t), ("running", POINTER(c_uint64)), ("prompt", Text),
    ("password", c_int), ("restored", POINTER(Restored)), ("branch", Text)]


class Variable(Structure):
    _fields_ = [("name", Text), ("type", Text), ("shape", Text), ("bytes", c_uint64)]


class Disk(Structure):
    _fields_ = [("path", Text), ("used", c_uint64), ("size", c_uint64)]


class RunState(Structure):
    _fields_ = [("number", c_uint64), ("kind", Text), ("state", Text), ("age_ms", c_uint64)]


class Look(Structure):
    _fields_ = [("session", POINTER(SessionInfo)), ("left_seconds", c_uint64), ("idle_left_seconds", c_uint64), ("n_runs", c_size_t),
                ("runs", POINTER(POINTER(RunState))), ("answered", c_int), ("memory", c_uint64), ("memory_limit", c_uint64),
                ("n_disks", c_size_t), ("disks", POINTER(POINTER(Disk))), ("has_variables", c_int), ("fresh", c_int),
                ("n_variables", c_size_t), ("variables", POINTER(POINTER(Variable))), ("more_variables", c_uint64),
                ("n_checkpoints", c_size_t), ("checkpoints", POINTER(POINTER(Checkpoint))), ("no_checkpoints", Text),
                ("n_branches", c_size_t), ("branches", POINTER(POINTER(Checkpoint)))]


class Completion(Structure):
    _fields_ = [("start", c_size_t), ("end", c_size_t), ("n", c_size_t), ("matches", POINTER(Text)), ("more", c_int)]


class Help(Structure):
    _fields_ = [("found", c_int), ("text", Text), ("html", Text)]


class Wholeness(Structure):
    _fields_ = [("state", Text), ("indent", Text)]


class Import(Structure):
    _fields_ = [("size", c_size_t), ("content", c_char_p), ("n", c_size_t), ("source", Text), ("session", Text), ("path", Text),
                ("destination", Text), ("variable", Text)]


class File(Structure):
    _fields_ = [("success", c_int), ("source", Text), ("path", Text), ("bytes", c_uint64), ("error", POINTER(Error)), ("id", Text),
                ("session", Text), ("name", Text), ("mime", Text), ("hash", Text), ("uri", Text), ("host_path", Text), ("folder", c_int),
                ("stored", c_uint64), ("created_ms", c_uint64), ("n_notices", c_size_t), ("notices", POINTER(Text))]


class Files(Structure):
    _fields_ = [("n", c_size_t), ("v", POINTER(POINTER(File))), ("success", c_int)]


class Content(Structure):
    _fields_ = [("data", c_void_p), ("n", c_size_t)]


class Copy(Structure):
    _fields_ = [("size", c_size_t), ("on_progress", PROGRESS), ("ctx", c_void_p)]


class Execution(Structure):
    _fields_ = [("number", c_uint64), ("kind", Text), ("started_ms", c_uint64), ("ended_ms", c_uint64), ("ending", Text),
                ("in_bytes", c_uint64), ("out_bytes", c_uint64)]


class History(Structure):
    _fields_ = [("n", c_size_t), ("v", POINTER(POINTER(Execution)))]


class Language(Structure):
    _fields_ = [("name", Text), ("title", Text), ("extension", Text), ("image", Text)]


_WAIT = POINTER(Wait)
# name: (type of the result, types of the arguments). If the result is an Error pointer, check() raises the error.
_FUNCTIONS: Dict[str, Any] = {
    "husk_version": (Text, []),
    "husk_language": (POINTER(Language), [c_size_t]),
    "husk_error_free": (None, [POINTER(Error)]),
    "husk_open": (POINTER(Error), [POINTER(Settings), POINTER(c_void_p)]),
    "husk_close": (POINTER(Error), [c_void_p]),
    "husk_cancel_new": (POINTER(Error), [POINTER(c_void_p)]),
    "husk_cancel": (None, [c_void_p]),
    "husk_cancel_free": (None, [c_void_p]),
    "husk_conversation_open": (POINTER(Error), [c_void_p, POINTER(ConversationOptions), POINTER(c_void_p)]),
    "husk_conversation_close": (POINTER(Error), [c_void_p]),
    "husk_create": (POINTER(Error), [c_void_p, POINTER(Create), _WAIT, POINTER(POINTER(SessionInfo))]),
    "husk_stop": (POINTER(Error), [c_void_p, Text, _WAIT]),
    "husk_session_free": (None, [POINTER(SessionInfo)]),
    "husk_list": (POINTER(Error), [c_void_p, _WAIT, POINTER(POINTER(Sessions))]),
    "husk_info": (POINTER(Error), [c_void_p, Text, _WAIT, POINTER(POINTER(SessionInfo))]),
    "husk_status": (POINTER(Error), [c_void_p, Text, c_int, _WAIT, POINTER(POINTER(Look))]),
    "husk_status_free": (None, [POINTER(Look)]),
    "husk_checkpoint": (POINTER(Error), [c_void_p, Text, Text, _WAIT, POINTER(POINTER(Checkpoints))]),
    "husk_undo": (POINTER(Error), [c_void_p, Text, Text, c_uint64, _WAIT, POINTER(POINTER(Checkpoints))]),
    "husk_checkpoint_drop": (POINTER(Error), [c_void_p, Text, Text, c_uint64, _WAIT, POINTER(POINTER(Checkpoints))]),
    "husk_branch": (POINTER(Error), [c_void_p, Text, Text, _WAIT, POINTER(POINTER(Checkpoints))]),
    "husk_keep": (POINTER(Error), [c_void_p, Text, Text, _WAIT, POINTER(POINTER(Checkpoints))]),
    "husk_checkpoints_free": (None, [POINTER(Checkpoints)]),
    "husk_complete": (POINTER(Error), [c_void_p, Text, Text, c_size_t, _WAIT, POINTER(POINTER(Completion))]),
    "husk_completion_free": (None, [POINTER(Completion)]),
    "husk_inspect": (POINTER(Error), [c_void_p, Text, Text, c_size_t, c_int, _WAIT, POINTER(POINTER(Help))]),
    "husk_help_free": (None, [POINTER(Help)]),
    "husk_is_complete": (POINTER(Error), [c_void_p, Text, Text, _WAIT, POINTER(POINTER(Wholeness))]),
    "husk_wholeness_free": (None, [POINTER(Wholeness)]),
    "husk_list_all": (POINTER(Error), [c_void_p, _WAIT, POINTER(POINTER(Sessions))]),
    "husk_sessions_free": (None, [POINTER(Sessions)]),
    "husk_execute": (POINTER(Error), [c_void_p, Text, Text, POINTER(Run), _WAIT, POINTER(POINTER(Result))]),
    "husk_terminal": (POINTER(Error), [c_void_p, Text, Text, POINTER(Run), _WAIT, POINTER(POINTER(Result))]),
    "husk_result_free": (None, [POINTER(Result)]),
    "husk_import": (POINTER(Error), [c_void_p, Text, POINTER(POINTER(Import)), c_size_t, POINTER(Copy), _WAIT, POINTER(POINTER(Files))]),
    "husk_export": (POINTER(Error), [c_void_p, Text, POINTER(Text), c_size_t, POINTER(Copy), _WAIT, POINTER(POINTER(Files))]),
    "husk_exports": (POINTER(Error), [c_void_p, c_size_t, _WAIT, POINTER(POINTER(Files))]),
    "husk_files_free": (None, [POINTER(Files)]),
    "husk_read_export": (POINTER(Error), [c_void_p, Text, c_size_t, _WAIT, POINTER(POINTER(Content))]),
    "husk_content_free": (None, [POINTER(Content)]),
    "husk_remove": (POINTER(Error), [c_void_p, Text, _WAIT, POINTER(c_size_t)]),
    "husk_collect": (POINTER(Error), [c_void_p, _WAIT, POINTER(c_size_t)]),
    "husk_history": (POINTER(Error), [c_void_p, Text, c_size_t, _WAIT, POINTER(POINTER(History))]),
    "husk_history_free": (None, [POINTER(History)]),
}

_NAME = "libhusk.so.0"


def _candidates() -> Iterator[str]:
    """Places to look: HUSK_LIBRARY alone if it is set, else the wheel, the system, and the build folder of a checkout."""
    if os.environ.get("HUSK_LIBRARY"):
        yield os.environ["HUSK_LIBRARY"]
        return
    here = pathlib.Path(__file__).resolve().parent
    if (here / "_native" / "lib" / _NAME).exists():
        yield str(here / "_native" / "lib" / _NAME)
    yield _NAME
    for folder in here.parents[2:3]:
        yield str(folder / "build" / "libhusk" / _NAME)


def _load() -> ctypes.CDLL:
    tried = []
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
            break
        except OSError as error:
            tried.append(str(error))
    else:
        raise ImportError("libhusk was not found: install Husk, or set HUSK_LIBRARY to its libhusk.so.0 (" + "; ".join(tried) + ")")
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


library = _load()


def packaged(name: str) -> Optional[str]:
    """The path of a program in the wheel; None if the wheel does not contain it."""
    path = pathlib.Path(__file__).resolve().parent / "_native" / "bin" / name
    return str(path) if path.exists() else None


def text(value: Optional[bytes]) -> Optional[str]:
    return None if value is None else value.decode()


def words(value: Optional[bytes]) -> str:
    return text(value) or ""


# The Python names of the C functions that the library's messages mention.
_NAMES = {
    "open": "SandboxManager", "create": "create_session", "stop": "stop_session", "list": "list_sessions", "info": "session_info",
    "list_all": "list_all_sessions", "execute": "execute_code", "terminal": "execute_terminal", "import": "import_files",
    "export": "export_files", "exports": "list_exports", "collect": "collect_garbage", "remove": "stop_session", "cancel_new": "Cancel",
    "checkpoint_drop": "drop_checkpoint", "conversation_open": "SandboxManager", "conversation_close": "close", "everything": "list_everything",
}  # fmt: skip
# The same for fields of C structures, which are arguments here.
_ARGUMENTS = {"wait_seconds": "wait", "id": "conversation"}


def message(value: Optional[bytes], cause: str = "") -> str:
    """A message of the library, with Python names in place of C names. Only messages about misuse name fields and the header."""
    text = re.sub(r"\bhusk_([a-z_]+)(?=\(\))", lambda found: _NAMES.get(found[1], found[1]), words(value))
    if cause == "misuse":
        text = re.sub(r"(?<![\w'])\.([a-z_]+)", lambda found: _ARGUMENTS.get(found[1], found[1]), text)
        text = text.replace("husk.h describes", "help(husk) describes")
    return text


def encode(value: Optional[str], what: str = "text") -> Optional[bytes]:
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string, not {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{what} must not contain NUL characters")
    return value.encode("utf-8", "surrogateescape")


def strings(values: Sequence[str]) -> Any:
    """A C array of strings that ends with NULL."""
    return (Text * (len(values) + 1))(*[encode(value) for value in values], None)


def sized(structure: Any, **fields: Any) -> Any:
    return structure(size=ctypes.sizeof(structure), **fields)


def check(error: Any) -> None:
    """Raises the error that a call returned, if there is one, and frees it."""
    if not error:
        return
    content = error.contents
    cause = words(content.cause)
    raised = error_for(words(content.kind), cause, message(content.message, cause), message(content.hint, cause))
    library.husk_error_free(error)
    raise raised


class Cancel:
    """A switch that ends calls from any thread. Pass it to the calls as `cancel`.

        stop = husk.Cancel()
        threading.Timer(5, stop.cancel).start()
        s.run("work()", 300, cancel=stop)
    """

    def __init__(self) -> None:
        self.handle = c_void_p()
        check(library.husk_cancel_new(byref(self.handle)))

    def cancel(self) -> None:
        """Ends the calls that got this switch. They raise CancelledError: stop.cancel()"""
        library.husk_cancel(self.handle)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            library.husk_cancel_free(self.handle)


class Guard:
    """Keeps an exception that a user's callback raised, so that the call ends and raises it."""

    def __init__(self) -> None:
        self.raised: Optional[BaseException] = None

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        if self.raised is None:
            try:
                function(*arguments)
            except BaseException as error:  # raised again by the waiting call
                self.raised = error


@contextlib.contextmanager
def waiting(deadline: Optional[float] = None, cancel: Optional[Cancel] = None) -> Iterator[Any]:
    """The husk_wait structure of a call, and its guard. Python handles signals during the call, so Ctrl-C cancels it."""
    guard = Guard()

    def nothing() -> None:  # running any Python code lets the interpreter handle signals
        pass

    def on_idle(_: Any) -> int:
        guard.call(nothing)
        return guard.raised is not None

    if deadline is not None and deadline <= 0:
        raise ValueError("deadline must be a positive number of seconds")
    callback = IDLE(on_idle)
    wait = sized(Wait, deadline_ms=max(1, int(deadline * 1000)) if deadline else 0, cancel=cancel.handle if cancel else None,
                 on_idle=callback)
    try:
        yield byref(wait), guard
    except HuskError as error:
        if guard.raised is not None:
            raise guard.raised from error
        raise
    if guard.raised is not None:
        raise guard.raised


def items(answer: Any) -> List[Any]:
    return [answer.contents.v[i].contents for i in range(answer.contents.n)]


