"""Managers and sessions. Every call blocks its thread. Other threads may make calls meanwhile."""

from __future__ import annotations

import atexit
import ctypes
import os
import pathlib
import re
import threading
import weakref
from ctypes import POINTER, byref, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _lib
from ._lib import Cancel, check, encode, library, sized, waiting
from ._stream import stream_lines
from ._unpack import bring
from .errors import NotFoundError
from .options import Output, Size
from .results import (
    Checkpoint,
    Completion,
    Execution,
    FilesResult,
    Help,
    Look,
    Restored,
    Result,
    SessionInfo,
    Stopped,
    Wholeness,
    take_files,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import CallOptions, CodeOptions, CommandOptions, CopyOptions, CreateOptions

Entry = Union[str, "os.PathLike[str]", Mapping[str, Any]]

_open: "weakref.WeakSet[SandboxManager]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for manager in list(_open):
        manager.close()


class SandboxManager:
    """Creates sessions and runs code in them. Settings come from `settings`, then from the environment and the settings file, as for
    `husk mcp`. With environment=False, only `settings` counts.

    By default a manager has its own conversation. conversation="name" uses that one, and takes over the sessions that earlier
    processes left in it. conversation=True uses this user's conversation. The sessions end with close(), with the end of a `with`
    block and with the program, unless keep_sessions is set.

        with husk.SandboxManager({"CONTAINER_MEMORY_LIMIT": "1g"}) as manager:
            sid = manager.create_session("python").id
            print(manager.execute_code(sid, "1 + 1").value)
    """

    def __init__(self, settings: Optional[Mapping[str, Any]] = None, *, environment: bool = True, env_file: Optional[str] = None,
                 conversation: Union[str, bool, None] = None, max_sessions: int = 0, keep_sessions: bool = False) -> None:
        self._handle = c_void_p()
        self._conversation = c_void_p()
        self._lock = threading.Lock()
        self._pid = os.getpid()
        values = [f"{name}={_setting(value)}" for name, value in (settings or {}).items()]
        options = sized(_lib.Settings, values=_lib.strings(values), use_environment=environment, use_file=environment,
                        file=encode(env_file), keep_sessions=keep_sessions, program=encode(_lib.packaged("husk")))
        check(library.husk_open(byref(options), byref(self._handle)))
        _open.add(self)
        named = conversation if isinstance(conversation, str) else None
        about = sized(_lib.ConversationOptions, id=encode(named), own=conversation is True, max_sessions=max_sessions)
        try:
            check(library.husk_conversation_open(self._handle, byref(about), byref(self._conversation)))
        except BaseException:
            self.close()
            raise

    # --- closing

    def close(self) -> None:
        """Ends the sessions of this manager, unless keep_sessions is set. Safe to call twice: manager.close()"""
        with self._lock:
            handle, self._handle = self._handle, c_void_p()
        _open.discard(self)
        if handle and os.getpid() == self._pid:  # the child of a fork must not end the parent's sessions
            check(library.husk_close(handle))

    cleanup = close

    def __enter__(self) -> "SandboxManager":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # --- sessions

    def create_session(self, runtime: str = "python", dependencies: Union[Mapping[str, Any], Iterable[str], None] = None, *,
                       network: Union[bool, Sequence[str], None] = None, env: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None,
                       memory: Optional[Size] = None, cpus: Optional[float] = None, disk: Optional[Size] = None,
                       image: Optional[str] = None, name: Optional[str] = None, secrets: Optional[Iterable[str]] = None,
                       on_output: Optional[Output] = None, deadline: Optional[float] = None,
                       cancel: Optional[Cancel] = None) -> SessionInfo:
        """Creates a session.

        dependencies: {"pandas": "2.2.3", "matplotlib": ""}, or ["pandas==2.2.3", "matplotlib"].
        network: False, True, or the only hosts that the session reaches: ["@python", "api.example.com", "db.internal:5432"].
        memory, disk, cpus: limits that differ from the settings, up to CONTAINER_MEMORY_MAX and the like; "4g", "512m" or bytes.
        image: one of the names in CONTAINER_IMAGES.
        name: a name that can be used instead of the id, also with husk's verbs (husk repl sales).
        secrets: names of secrets that `husk secret set` stored; requests to their hosts can use the variables of these names.

            info = manager.create_session("python", ["pandas"], memory="4g", network=False)
        """
        answer = POINTER(_lib.SessionInfo)()
        with waiting(deadline, cancel) as (wait, guard):
            hear = _lib.INSTALL_OUTPUT(lambda _, data, n: guard.call(on_output, ctypes.string_at(data, n).decode()) if on_output else None)
            options = sized(_lib.Create, language=encode(runtime, "runtime"), dependencies=_lib.strings(_dependencies(dependencies)),
                            network=_switch(network), network_hosts=_hosts(network), env=_pairs(env), cwd=encode(cwd, "cwd"),
                            memory=_size(memory, "memory"), disk=_size(disk, "disk"), cpus=_cpus(cpus),
                            image=encode(image, "image"), name=encode(name, "name"),
                            secrets=_lib.strings([] if secrets is None else list(secrets)))
            if on_output:
                options.on_output = hear
            check(library.husk_create(self._conversation, byref(options), wait, byref(answer)))
        info = SessionInfo(answer.contents)
        library.husk_session_free(answer)
        return info

    def stop_session(self, session_id: str, *, deadline: Optional[float] = None, cancel: Optional[Cancel] = None) -> Stopped:
        """Ends a session; false if there is no such session: manager.stop_session(info.id)"""
        with waiting(deadline, cancel) as (wait, _):
            try:
                check(library.husk_stop(self._conversation, encode(session_id, "session_id"), wait))
            except NotFoundError:
                return Stopped(False)
        return Stopped(True)

    def list_sessions(self) -> List[SessionInfo]:
        """The sessions of this manager's conversation: [info.status for info in manager.list_sessions()]"""
        return self._sessions(library.husk_list, self._conversation)

    def list_all_sessions(self) -> List[SessionInfo]:
        """The sessions of all conversations and processes of this user: len(manager.list_all_sessions())"""
        return self._sessions(library.husk_list_all, self._handle)

    list_everything = list_all_sessions  # the name in 0.1

    def _sessions(self, function: Any, handle: Any) -> List[SessionInfo]:
        answer = POINTER(_lib.Sessions)()
        with waiting() as (wait, _):
            check(function(handle, wait, byref(answer)))
        found = [SessionInfo(raw) for raw in _lib.items(answer)]
        library.husk_sessions_free(answer)
        return found

    def session_info(self, session_id: str) -> SessionInfo:
        """One session: manager.session_info(sid).status"""
        answer = POINTER(_lib.SessionInfo)()
        with waiting() as (wait, _):
            check(library.husk_info(self._conversation, encode(session_id, "session_id"), wait, byref(answer)))
        info = SessionInfo(answer.contents)
        library.husk_session_free(answer)
        return info

    def status(self, session_id: str, *, keep_alive: bool = False, deadline: Optional[float] = None,
               cancel: Optional[Cancel] = None) -> Look:
        """The status of a session: its runs, limits, remaining time and variables. Does not run code in the session.
        keep_alive=True counts the call as use of the session.

            manager.status(sid).seconds_left
        """
        answer = POINTER(_lib.Look)()
        with waiting(deadline, cancel) as (wait, _):
            check(library.husk_status(self._conversation, encode(session_id, "session_id"), keep_alive, wait, byref(answer)))
        found = Look(answer.contents)
        library.husk_status_free(answer)
        return found

    look = status  # the name in 0.1

    def checkpoint(self, session_id: str, name: str, *, deadline: Optional[float] = None, cancel: Optional[Cancel] = None) -> Checkpoint:
        """Saves the state of a Python or R interpreter under a name, for undo(). Files are not part of it. Raises BusyError while code runs.

            manager.checkpoint(sid, "loaded").bytes
        """
        saved: Checkpoint = self._checkpoint(library.husk_checkpoint, session_id, (encode(name, "name"),), deadline, cancel)
        return saved

    def undo(self, session_id: str, to: Union[str, int], *, deadline: Optional[float] = None, cancel: Optional[Cancel] = None) -> Restored:
        """Returns to a checkpoint: to its name, or to the number of the run after which it was made. The result says what is missing
        since then. Raises NotFoundError if there is no such checkpoint; the hint lists those that there are.

            manager.undo(sid, "loaded").missing
        """
        restored: Restored = self._checkpoint(library.husk_undo, session_id, _chosen(to), deadline, cancel)
        return restored

    def drop_checkpoint(self, session_id: str, which: Union[str, int], *, deadline: Optional[float] = None,
                        cancel: Optional[Cancel] = None) -> None:
        """Drops a checkpoint, by its name or by its run, or a branch, by its name: manager.drop_checkpoint(sid, "loaded")"""
        self._checkpoint(library.husk_checkpoint_drop, session_id, _chosen(which), deadline, cancel)

    def branch(self, session_id: str, *names: str, deadline: Optional[float] = None, cancel: Optional[Cancel] = None) -> None:
        """Copies a Python interpreter into branches, which run beside it. All are made, or none. Raises BusyError while code runs.

            manager.branch(sid, "mean", "median")
            manager.execute_code(sid, "frame.fillna(frame.mean())", branch="mean")
        """
        self._checkpoint(library.husk_branch, session_id, (encode(",".join(names), "names"),), deadline, cancel)

    def keep(self, session_id: str, branch: str, *, deadline: Optional[float] = None, cancel: Optional[Cancel] = None) -> Restored:
        """Makes a branch the main interpreter. The former one and the other branches end: manager.keep(sid, "mean").missing"""
        restored: Restored = self._checkpoint(library.husk_keep, session_id, (encode(branch, "branch"),), deadline, cancel)
        return restored

    def _checkpoint(self, function: Any, session_id: str, which: Sequence[Any], deadline: Optional[float],
                    cancel: Optional[Cancel]) -> Any:
        answer = POINTER(_lib.Checkpoints)()
        with waiting(deadline, cancel) as (wait, _):
            check(function(self._conversation, encode(session_id, "session_id"), *which, wait, byref(answer)))
        raw = answer.contents
        found = Checkpoint(raw.saved.contents) if raw.saved else None
        restored = Restored(raw.restored.contents, _lib.text(raw.note)) if raw.restored else None
        library.husk_checkpoints_free(answer)
        return found or restored

    def complete(self, session_id: str, code: str, cursor: Optional[int] = None, *, deadline: Optional[float] = None,
                 cancel: Optional[Cancel] = None) -> Completion:
        """Completions at the cursor, by default the end of the code, from the session's interpreter. Raises BusyError while code runs.

            manager.complete(sid, "import nu").matches
        """
        answer = POINTER(_lib.Completion)()
        self._ask(library.husk_complete, session_id, code, (len(code) if cursor is None else cursor,), answer, deadline, cancel)
        found = Completion(answer.contents)
        library.husk_completion_free(answer)
        return found

    def inspect(self, session_id: str, code: str, cursor: Optional[int] = None, *, detail: bool = False, deadline: Optional[float] = None,
                cancel: Optional[Cancel] = None) -> Help:
        """Help on the name at the cursor, by default the end of the code. detail=True adds more, such as the source.

            manager.inspect(sid, "len").text
        """
        answer = POINTER(_lib.Help)()
        self._ask(library.husk_inspect, session_id, code, (len(code) if cursor is None else cursor, detail), answer, deadline, cancel)
        found = Help(answer.contents)
        library.husk_help_free(answer)
        return found

    def is_complete(self, session_id: str, code: str, *, deadline: Optional[float] = None, cancel: Optional[Cancel] = None) -> Wholeness:
        """Whether the code is complete, or needs more lines: manager.is_complete(sid, "if x:").state"""
        answer = POINTER(_lib.Wholeness)()
        self._ask(library.husk_is_complete, session_id, code, (), answer, deadline, cancel)
        found = Wholeness(answer.contents)
        library.husk_wholeness_free(answer)
        return found

    def _ask(self, function: Any, session_id: str, code: str, more: Sequence[int], answer: Any, deadline: Optional[float],
             cancel: Optional[Cancel]) -> None:
        with waiting(deadline, cancel) as (wait, _):
            check(function(self._conversation, encode(session_id, "session_id"), encode(code, "code"), *more, wait, byref(answer)))

    def history(self, session_id: str, limit: int = 100) -> List[Execution]:
        """The runs of a session, even if the session has ended: manager.history(sid)[-1].ending"""
        answer = POINTER(_lib.History)()
        with waiting() as (wait, _):
            check(library.husk_history(self._handle, encode(session_id, "session_id"), limit, wait, byref(answer)))
        found = [Execution(raw) for raw in _lib.items(answer)]
        library.husk_history_free(answer)
        return found

    def collect_garbage(self) -> int:
        """Cleans up after processes that have ended, and returns the number of removed containers: manager.collect_garbage()"""
        n = c_size_t()
        with waiting() as (wait, _):
            check(library.husk_collect(self._handle, wait, byref(n)))
        return n.value

    # --- runs

    def execute_code(self, session_id: str, code: Optional[str] = None, timeout: Optional[int] = None,
                     **more: Unpack[CodeOptions]) -> Result:
        """Runs a cell. The value of the last expression is the result, as in a notebook.

        on_stdout and on_stderr receive the output as it is printed. env applies to this run only. deadline and cancel end the wait.
        wait=20 returns after at most 20 s. If the run has not ended, `ending` is "running" and `run` is its number.
        run=7 instead of code waits for that run again and returns its new output. interrupt=True with run=7 interrupts it.
        restart=True starts a new interpreter first. branch="a" runs the cell in that branch; see branch().
        interactive=True allows prompts: `ending` is "waiting" and `prompt` has the text. Answer with run=7, input="yes".

            manager.execute_code(sid, "train()", wait=20, on_stdout=print)
        """
        return self._run(library.husk_execute, session_id, encode(code, "code"), timeout, **more)

    def execute_terminal(self, session_id: str, command: Optional[str] = None, timeout: Optional[int] = None,
                         **more: Unpack[CommandOptions]) -> Result:
        """Runs a command with bash. The directory, exported variables and background jobs persist. The options are those of
        execute_code(). cwd applies to this run only. rows and cols are the size of an interactive run's terminal.

            manager.execute_terminal(sid, "make -j2", 300, cwd="project")
        """
        return self._run(library.husk_terminal, session_id, encode(command, "command"), timeout, **more)

    def _run(self, function: Any, session_id: str, source: Any, timeout: Optional[int], *, on_stdout: Optional[Output] = None,
             on_stderr: Optional[Output] = None, env: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None,
             wait: Optional[int] = None, run: Optional[int] = None, interrupt: bool = False, restart: bool = False,
             branch: Optional[str] = None,
             interactive: bool = False, rows: int = 0, cols: int = 0, input: Optional[str] = None,
             deadline: Optional[float] = None, cancel: Optional[Cancel] = None) -> Result:
        answer = POINTER(_lib.Result)()
        if timeout is not None and not 1 <= timeout <= (300 if wait is None and not interactive else 7 * 86400):
            raise ValueError("timeout must be 1 to 300 seconds; with wait it may be longer")
        if wait is not None and not 0 <= wait <= 300:
            raise ValueError("wait must be 0 to 300 seconds")
        if run is not None and not 1 <= run < 2**32:
            raise ValueError("run must be the number of a run")
        with waiting(deadline, cancel) as (limits, guard):
            def on_output(_: Any, stream: int, data: Any, n: int) -> None:
                listener = on_stdout if stream == 1 else on_stderr
                if listener:
                    guard.call(listener, ctypes.string_at(data, n).decode())

            hear = _lib.RUN_OUTPUT(on_output)
            options = sized(_lib.Run, timeout=timeout or 0, env=_pairs(env) if env else None, cwd=encode(cwd, "cwd"),
                            has_wait=wait is not None, wait_seconds=wait or 0, run=run or 0, interrupt=interrupt, restart=restart,
                            interactive=interactive, rows=rows, cols=cols, input=encode(input, "input"),
                            branch=encode(branch, "branch"))
            if on_stdout or on_stderr:
                options.on_output = hear
            check(function(self._conversation, encode(session_id, "session_id"), source, byref(options), limits, byref(answer)))
        result = Result(answer.contents)
        library.husk_result_free(answer)
        return result

    # --- files

    def import_files(self, session_id: str, files: Sequence[Entry], *, on_progress: Optional[Output] = None,
                     deadline: Optional[float] = None, cancel: Optional[Cancel] = None) -> FilesResult:
        """Copies files into a session. An entry is a host path, {"source": path}, {"content": str or bytes, "destination": path} or
        {"session_id": …, "path": …}. The destination is optional, except with content. {"session_id": …, "variable": …} copies a
        variable of another session, also of another language, into the variable of the same name, or the destination.

            manager.import_files(sid, ["sales.csv", {"content": "x", "destination": "a.txt"}])
        """
        entries = [_import(entry) for entry in files]
        pointers = (POINTER(_lib.Import) * max(1, len(entries)))(*[ctypes.pointer(entry) for entry in entries])
        answer = POINTER(_lib.Files)()
        with waiting(deadline, cancel) as (wait, guard):
            options, _keep = _copy(guard, on_progress)
            check(library.husk_import(self._conversation, encode(session_id, "session_id"), pointers, len(entries), byref(options), wait,
                                      byref(answer)))
        return take_files(answer)

    def export_files(self, session_id: str, files: Sequence[Entry], *, to: Optional[Union[str, "os.PathLike[str]"]] = None,
                     on_progress: Optional[Output] = None,
                     deadline: Optional[float] = None, cancel: Optional[Cancel] = None) -> FilesResult:
        """Copies files out of a session. An entry is a path in the session, or {"source": path}. to: a folder of this machine for the
        copies.

            manager.export_files(sid, ["out/plot.png"], to="results")
        """
        paths = [entry["source"] if isinstance(entry, Mapping) else os.fspath(entry) for entry in files]
        answer = POINTER(_lib.Files)()
        with waiting(deadline, cancel) as (wait, guard):
            options, _keep = _copy(guard, on_progress)
            check(library.husk_export(self._conversation, encode(session_id, "session_id"), _lib.strings(paths), len(paths),
                                      byref(options), wait, byref(answer)))
        done = take_files(answer)
        for file in done.files:
            if to is not None and file.success and file.host_path and file.name:
                file.host_path = bring(file.host_path, file.name, bool(file.directory), os.fspath(to))
        return done

    def list_exports(self, limit: int = 100) -> FilesResult:
        """The exports of this conversation, newest first, also from sessions that have ended: manager.list_exports()[0].host_path"""
        answer = POINTER(_lib.Files)()
        with waiting() as (wait, _):
            check(library.husk_exports(self._conversation, limit, wait, byref(answer)))
        return take_files(answer)

    def read_export(self, export_id: str, max_bytes: int = 0, *, deadline: Optional[float] = None,
                    cancel: Optional[Cancel] = None) -> bytes:
        """The content of an export; a directory is a tar archive. An export above max_bytes (0 = 64 MiB) is refused: use its host_path.

            manager.read_export(manager.list_exports()[0].id)
        """
        answer = POINTER(_lib.Content)()
        with waiting(deadline, cancel) as (wait, _):
            check(library.husk_read_export(self._conversation, encode(export_id, "export_id"), max_bytes, wait, byref(answer)))
        try:
            return ctypes.string_at(answer.contents.data, answer.contents.n)
        finally:
            library.husk_content_free(answer)


class Branch:
    """A branch of a session's interpreter: with s.branch("mean") as a: a.run("x = 1")"""

    def __init__(self, session: "Session", name: str) -> None:
        self.session = session
        self.name = name
        self._open = True

    def __enter__(self) -> "Branch":
        return self

    def __exit__(self, *_: Any) -> None:
        try:
            self.drop()
        except NotFoundError:  # it has ended, or another branch was kept
            pass

    def run(self, code: Optional[str] = None, timeout: Optional[int] = None, **more: Unpack[CodeOptions]) -> Result:
        """Runs a cell in the branch: a.run("x").value"""
        more["branch"] = self.name
        return self.session.run(code, timeout, **more)

    def keep(self, **more: Unpack[CallOptions]) -> Restored:
        """Makes the branch the main interpreter; see SandboxManager.keep(): a.keep().missing"""
        restored = self.session.keep(self.name, **more)
        self._open = False
        return restored

    def drop(self, **more: Unpack[CallOptions]) -> None:
        """Ends the branch. Does nothing if it was kept or dropped: a.drop()"""
        if self._open:
            self.session.drop_checkpoint(self.name, **more)
            self._open = False


class Session:
    """One session. It has its own manager unless one is given:

        with husk.Session("python") as s:
            s.run("1 + 1").value
    """

    def __init__(self, runtime: str = "python", dependencies: Union[Mapping[str, Any], Iterable[str], None] = None, *,
                 manager: Optional[SandboxManager] = None, settings: Optional[Mapping[str, Any]] = None,
                 **more: Unpack[CreateOptions]) -> None:
        self._own = manager is None
        self.manager = manager or SandboxManager(settings)
        try:
            self.info = self.manager.create_session(runtime, dependencies, **more)
        except BaseException:
            if self._own:
                self.manager.close()
            raise
        self.id = self.info.session_id

    def run(self, code: Optional[str] = None, timeout: Optional[int] = None, **more: Unpack[CodeOptions]) -> Result:
        """Runs a cell; see SandboxManager.execute_code().

            s.run("x = 20")
            s.run("x + 1").json()  # 21
        """
        return self.manager.execute_code(self.id, code, timeout, **more)

    def shell(self, command: Optional[str] = None, timeout: Optional[int] = None, **more: Unpack[CommandOptions]) -> Result:
        """Runs a command with bash; see SandboxManager.execute_terminal().

            s.shell("pip install humanize", timeout=120).check()
            s.shell("false").exit_code  # 1
        """
        return self.manager.execute_terminal(self.id, command, timeout, **more)

    def stream(self, code: str, timeout: Optional[int] = None, **more: Unpack[CallOptions]) -> Iterator[Tuple[str, Any]]:
        """Yields ("stdout", line) and ("stderr", line) as they are printed, each with its newline, then ("result", Result). Leaving
        the loop interrupts the run.

            for kind, line in s.stream("for i in range(3): print(i)"):
                print(kind, line)
        """
        return stream_lines(self, code, timeout, **more)

    def status(self, *, keep_alive: bool = False, **more: Unpack[CallOptions]) -> Look:
        """The status of the session; see SandboxManager.status().

            [(v.name, v.type) for v in s.status().variables or []]
        """
        return self.manager.status(self.id, keep_alive=keep_alive, **more)

    look = status  # the name in 0.1

    def checkpoint(self, name: str, **more: Unpack[CallOptions]) -> Checkpoint:
        """Saves the state of the interpreter under a name; see SandboxManager.checkpoint().

            s.checkpoint("loaded")
            s.run("frame = frame.dropna()")
            s.undo("loaded")
        """
        return self.manager.checkpoint(self.id, name, **more)

    def undo(self, to: Union[str, int], **more: Unpack[CallOptions]) -> Restored:
        """Returns to a checkpoint, by its name or by its run: s.undo("loaded").missing"""
        return self.manager.undo(self.id, to, **more)

    def drop_checkpoint(self, which: Union[str, int], **more: Unpack[CallOptions]) -> None:
        """Drops a checkpoint: s.drop_checkpoint("loaded")"""
        self.manager.drop_checkpoint(self.id, which, **more)

    def branch(self, name: str, **more: Unpack[CallOptions]) -> "Branch":
        """Copies the interpreter into a branch, which runs beside it. Leaving the `with` block drops it, unless it was kept.

            with s.branch("mean") as a:
                a.run("frame = frame.fillna(frame.mean())")
                a.keep()
        """
        self.manager.branch(self.id, name, **more)
        return Branch(self, name)

    def keep(self, branch: str, **more: Unpack[CallOptions]) -> Restored:
        """Makes a branch the main interpreter; see SandboxManager.keep(): s.keep("mean").missing"""
        return self.manager.keep(self.id, branch, **more)

    def complete(self, code: str, cursor: Optional[int] = None, **more: Unpack[CallOptions]) -> Completion:
        """Completions at the cursor: s.complete("import nu").matches"""
        return self.manager.complete(self.id, code, cursor, **more)

    def inspect(self, code: str, cursor: Optional[int] = None, *, detail: bool = False, **more: Unpack[CallOptions]) -> Help:
        """Help on the name at the cursor: s.inspect("len").text"""
        return self.manager.inspect(self.id, code, cursor, detail=detail, **more)

    def is_complete(self, code: str, **more: Unpack[CallOptions]) -> Wholeness:
        """Whether code is complete: s.is_complete("for i in x:").state == "incomplete" """
        return self.manager.is_complete(self.id, code, **more)

    def put(self, *files: Entry, **more: Unpack[CopyOptions]) -> FilesResult:
        """Copies files and folders of this machine into the session. Raises FilesError if one cannot be copied.

            s.put("sales.csv", {"content": "a,b", "destination": "small.csv"})
        """
        return self.manager.import_files(self.id, files, **more).check()

    def get(self, *files: Entry, to: Optional[Union[str, "os.PathLike[str]"]] = None, **more: Unpack[CopyOptions]) -> FilesResult:
        """Exports files and folders. With to="results" they are copied to that folder of this machine, and host_path is the path of each
        copy. Otherwise host_path is the path of the stored export, which is a tar archive for a folder. Raises FilesError if one
        cannot be copied.

            s.get("plot.png", "out/", to="results")
        """
        return self.manager.export_files(self.id, files, to=to, **more).check()

    def write(self, destination: str, content: Union[str, bytes]) -> FilesResult:
        """Writes a file in the session: s.write("config.json", "{}")"""
        return self.put({"content": content, "destination": destination})

    def stop(self) -> None:
        """Ends the session. Safe to call twice: s.stop()"""
        if self._own:
            self.manager.close()
        else:
            self.manager.stop_session(self.id)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Session {self.id} {self.info.runtime}>"


def _chosen(which: Union[str, int]) -> Tuple[Optional[bytes], int]:
    """A checkpoint's name and run for the library, one of which is empty."""
    if isinstance(which, bool) or not isinstance(which, (str, int)):
        raise TypeError(f"a checkpoint is a name or the number of a run, not {type(which).__name__}")
    if isinstance(which, str):
        return encode(which, "name"), 0
    if not 0 <= which < 2**32:
        raise ValueError("a run's number is 0 or more")
    return None, which


def _pairs(env: Optional[Mapping[str, str]]) -> Any:
    return _lib.strings([f"{name}={value}" for name, value in (env or {}).items()])


def _switch(network: Union[bool, Sequence[str], None]) -> int:
    return 0 if not isinstance(network, bool) else 1 if network else -1


def _hosts(network: Union[bool, Sequence[str], None]) -> Any:
    if network is None or isinstance(network, bool):
        return None
    if isinstance(network, str):
        raise TypeError("network must be a bool or a list of names")
    return _lib.strings(list(network))


def _size(value: Optional[Size], what: str) -> int:
    """A size in bytes; 0 for None."""
    if value is None:
        return 0
    found = re.fullmatch(r"\s*(\d+)\s*([kmg]?)(?:i?b)?\s*", str(value), re.IGNORECASE)
    if isinstance(value, bool) or not found or not 0 < int(found[1]) < 2**44:
        raise ValueError(f'{what} must be a size above 0, such as "512m" or "4g"; got {value!r}')
    return int(found[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[found[2].lower()]


def _cpus(value: Optional[float]) -> float:
    if value is not None and not 0 < value < 10**9:
        raise ValueError(f"cpus must be a number above 0; got {value!r}")
    return float(value or 0)


def _setting(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _dependencies(wanted: Union[Mapping[str, Any], Iterable[str], None]) -> List[str]:
    if isinstance(wanted, str):
        raise TypeError("dependencies must be a mapping of names to versions, or a list")
    if isinstance(wanted, Mapping):
        return [f"{name}=={version}" if version else name for name, version in wanted.items()]
    return list(wanted or ())


def _import(entry: Entry) -> Any:
    if not isinstance(entry, Mapping):
        entry = {"source": os.fspath(entry)}
    known = {"source", "content", "file_content", "encoding", "session_id", "path", "variable", "destination"}
    for key in entry.keys() - known:
        raise ValueError(f"an entry has no key '{key}'; the keys are: {', '.join(sorted(known))}")
    content = entry.get("content", entry.get("file_content"))
    fields: Dict[str, Any] = {"destination": encode(entry.get("destination"), "destination")}
    if content is not None:
        data = content.encode() if isinstance(content, str) else bytes(content)
        if entry.get("encoding") == "base64":
            import base64
            data = base64.b64decode(data, validate=True)
        fields.update(content=data, n=len(data))
    source = entry.get("source")
    fields.update(source=encode(os.path.abspath(source) if source is not None else None, "source"),
                  session=encode(entry.get("session_id"), "session_id"), path=encode(entry.get("path"), "path"),
                  variable=encode(entry.get("variable"), "variable"))
    return sized(_lib.Import, **fields)


def _copy(guard: Any, on_progress: Optional[Output]) -> Any:
    hear = _lib.PROGRESS(lambda _, line: guard.call(on_progress, line.decode()) if on_progress else None)
    options = sized(_lib.Copy)
    if on_progress:
        options.on_progress = hear
    return options, hear


def languages() -> List[str]:
    """The languages of this build: "python" in husk.languages()"""
    found: List[str] = []
    while True:
        language = library.husk_language(len(found))
        if not language:
            return found
        found.append(language.contents.name.decode())


def version() -> str:
    """The version of the library: print(husk.version())"""
    return _lib.words(library.husk_version())


def program() -> Optional[pathlib.Path]:
    """The path of the husk program in this package; None if the package does not contain it."""
    path = _lib.packaged("husk")
    return pathlib.Path(path) if path else None
