"""Results of calls: plain objects, copied from the library's structures.

Attributes have the names of the HTTP API's fields. Shorter names of earlier versions stay beside them."""

from __future__ import annotations

import base64
import ctypes
import importlib
import json
import pathlib
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from . import _lib
from ._lib import message, text, words
from ._values import literal
from .errors import HuskError

Bundle = Dict[str, str]  # MIME type to text; base64 for binary types


def _bundle(raw: Any) -> Bundle:
    parts = [raw.parts[i].contents for i in range(raw.n)]
    return {words(part.type): ctypes.string_at(part.data, part.n).decode() for part in parts}


class ErrorInfo(Dict[str, str]):
    """The exception of a run: a dict with `type`, `message` and `traceback`, which are also attributes."""

    def __getattr__(self, name: str) -> str:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Display:
    """A picture, a table or another output: s.run("plt.plot([1, 2])").displays[0].save("plot.png")"""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle

    @property
    def type(self) -> str:
        """The MIME type of its richest form: display.type == "image/png" """
        return next((kind for kind in self.bundle if kind.startswith("image/")), None) or next(iter(self.bundle), "text/plain")

    @property
    def data(self) -> str:
        """The content in its richest form, in base64 if it is binary: len(display.data)"""
        return self.bundle.get(self.type, "")

    @property
    def chart(self) -> Optional[Dict[str, Any]]:
        """The values of a chart, in the form of E2B's code interpreter; None if it has none: display.chart["elements"][0]["points"]"""
        source = self.bundle.get("application/vnd.husk.chart+json")
        try:
            chart = json.loads(source) if source else None
        except (ValueError, RecursionError):
            return None
        return chart if isinstance(chart, dict) else None

    def bytes(self) -> bytes:
        """The bytes of a picture's file: display.bytes()[:4] == b"\\x89PNG" """
        return self.data.encode() if self.type in ("image/svg+xml",) or self.type.startswith("text/") else base64.b64decode(self.data)

    def save(self, path: Union[str, pathlib.Path]) -> pathlib.Path:
        """Writes the content to a file: display.save("plot.png")"""
        target = pathlib.Path(path)
        target.write_bytes(self.bytes())
        return target

    def __getitem__(self, key: str) -> str:
        """For older scripts, which expect a dict: display["type"], display["data"]."""
        return {"type": self.type, "data": self.data}[key]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, Any]:
        return dict(self.bundle)

    def __repr__(self) -> str:
        return f"<Display {self.type}, {len(self.data)} characters>"


class Checkpoint:
    """A copy of a session's interpreter. `name` is None if the session made it by itself. `lost` names what the copy lacks, such as
    threads and connections. A branch has a `state`, and in `runs` the runs that only it has run: s.checkpoint("loaded").run"""

    def __init__(self, raw: Any) -> None:
        self.name: Optional[str] = text(raw.name)
        self.run: int = raw.run
        self.age_ms: int = raw.age_ms
        self.bytes: int = raw.bytes
        self.lost: List[str] = [words(raw.lost[i]) for i in range(raw.n_lost)]
        self.state: Optional[str] = text(raw.state)
        self.runs: List[int] = [raw.runs[i] for i in range(raw.n_runs)]

    def __repr__(self) -> str:
        if self.state:
            return f"<Branch {self.name} {self.state} after run {self.run}>"
        return f"<Checkpoint {self.name or 'automatic'} after run {self.run}>"


class Restored:
    """The gaps of an interpreter after a checkpoint took its place: s.undo("loaded").missing

    Variables are as they were after `run`. The effects of the runs in `missing` are gone, and so is what `lost` names. `files` lists the
    files of /workspace that have changed since then; files are never restored."""

    def __init__(self, raw: Any, note: Optional[str] = None) -> None:
        self.name: Optional[str] = text(raw.name)
        self.run: int = raw.run
        self.missing: List[int] = [raw.missing[i] for i in range(raw.n_missing)]
        self.lost: List[str] = [words(raw.lost[i]) for i in range(raw.n_lost)]
        self.files: List[str] = [words(raw.files[i]) for i in range(raw.n_files)]
        self.more_files: bool = bool(raw.more_files)
        self.note: Optional[str] = note

    def __repr__(self) -> str:
        return f"<Restored to run {self.run}, without {self.missing}>"


class Result:
    """The result of a run: its ending, output, value and error. It is true if the run succeeded.

        result = s.run("print(1)")
        result.ending, result.stdout, result.duration  # ("ok", "1\\n", 0.003)
    """

    def __init__(self, raw: Any) -> None:
        self.ending: str = words(raw.ending)
        self.success: bool = self.ending == "ok"
        self.detail: Optional[str] = text(raw.detail)
        self.cause: str = words(raw.cause)
        self.stdout: str = words(raw.out)
        self.stderr: str = words(raw.err)
        self.stdout_truncated: bool = bool(raw.out_truncated)
        self.stderr_truncated: bool = bool(raw.err_truncated)
        self.result: Optional[Bundle] = _bundle(raw.value.contents) if raw.value else None
        self.displays: List[Display] = [Display(_bundle(raw.displays[i].contents)) for i in range(raw.n_displays)]
        self.error: Optional[ErrorInfo] = None
        if raw.error_type is not None:
            self.error = ErrorInfo(type=words(raw.error_type), message=words(raw.error_message), traceback=words(raw.error_traceback))
        self.exit_code: Optional[int] = raw.exit_code if raw.has_exit_code else None
        self.signal: Optional[int] = raw.signal or None
        self.duration_ms: int = raw.duration_ms
        self.duration: float = self.duration_ms / 1000
        self.stdout_bytes: int = raw.out_bytes
        self.stderr_bytes: int = raw.err_bytes
        self.displays_dropped: int = raw.displays_dropped
        self.memory_peak: Optional[int] = raw.memory_peak or None
        self.memory_limit: Optional[int] = raw.memory_limit or None
        self.kernel_restarted: bool = bool(raw.kernel_restarted)
        self.session_gone: bool = bool(raw.session_gone)
        self.notice: Optional[str] = text(raw.notice)
        self.earlier: List[Result] = [Result(raw.earlier[i].contents) for i in range(raw.n_earlier)]
        self.run: int = raw.run
        self.running: bool = self.ending == "running"
        self.waiting: bool = self.ending == "waiting"
        self.prompt: Optional[str] = text(raw.prompt)
        self.password: bool = bool(raw.password)
        self.queued: bool = bool(raw.queued)
        self.behind: Optional[int] = raw.behind or None
        self.lost_variables: Optional[str] = text(raw.lost)
        self.lost: Optional[str] = self.lost_variables
        self.others_running: List[int] = [raw.running[i] for i in range(raw.n_running)]
        self.restored: Optional[Restored] = Restored(raw.restored.contents) if raw.restored else None
        self.branch: Optional[str] = text(raw.branch)

    @property
    def value(self) -> Optional[str]:
        """The text of the last expression's value; None if there was none: s.run("1 + 1").value == "2"; see also json()"""
        return (self.result or {}).get("text/plain")

    def json(self) -> Any:
        """The last expression's value as a Python value: lists, dicts, strings, numbers, True, False and None. Raises ValueError if the
        run has no value, or a value of another kind.

            s.run("[n * n for n in range(3)]").json()  # [0, 1, 4]
        """
        bundle = self.result or {}
        shown = bundle.get("text/plain", "")
        for read, source in ((json.loads, bundle.get("application/json")), (json.loads, shown), (literal, shown)):
            if source:
                try:
                    return read(source)
                except (ValueError, RecursionError):
                    pass
        raise ValueError(f"the value is not JSON-like: {shown[:80]}" if shown else "the run has no value")

    @property
    def display_outputs(self) -> List[Display]:
        """The same as displays, for older scripts: result.display_outputs[0]["type"]"""
        return self.displays

    @property
    def pictures(self) -> List[Display]:
        """The displays that are pictures, and the value if it is one: result.pictures[0].save("plot.png")"""
        shown = self.displays + ([Display(self.result)] if self.result else [])
        return [display for display in shown if display.type.startswith("image/")]

    def check(self) -> Result:
        """Returns the result itself if the run succeeded, and raises RunError otherwise: s.shell("make").check().stdout"""
        if not self.success:
            raise RunError(self)
        return self

    def __bool__(self) -> bool:
        return self.success

    def __str__(self) -> str:
        """The text that a person at a prompt would see."""
        parts = [self.stdout, self.stderr, self.value or ""]
        parts += [self._traceback()] if self.error else []
        parts += [self._ended()] if self.ending not in ("ok", "error") or not (self.success or self.error) else []
        return "\n".join(part.rstrip("\n") for part in parts if part)

    def _traceback(self) -> str:
        """Where the run failed. The exception by which the interpreter was stopped at its time limit is not the program's."""
        if not self.error:
            return ""
        shown = self.error.get("traceback") or f"{self.error.type}: {self.error.message}"
        lines = shown.rstrip("\n").split("\n")
        return "\n".join(lines[:-1] if self.ending == "timeout" and lines[-1].startswith("KeyboardInterrupt") else lines)

    def _ended(self) -> str:
        if self.ending == "error" and self.exit_code:
            return f"exit code {self.exit_code}"
        lost = f" Lost variables: {self.lost}." if self.lost else ""
        return f"{self.ending}: {self.detail}{lost}" if self.detail else self.ending + lost

    def __repr__(self) -> str:
        return f"<Result {self.ending}: {str(self)[:60]!r}>"

    def _ipython_display_(self) -> None:
        """Shows the result in a notebook: printed text, then pictures and tables, then the value."""
        # Only a notebook calls this method. IPython is imported by name, since its type annotations differ between releases.
        display = importlib.import_module("IPython.display").display
        if self.stdout or self.stderr:
            print(self.stdout + self.stderr, end="")
        for shown in self.displays:
            display(shown.bundle, raw=True)
        if self.result:
            display(self.result, raw=True)
        if not self.success:
            print(self._traceback() if self.error else self._ended())
            print(self._ended() if self.error and self.ending != "error" else "", end="")


class RunError(Exception):
    """Raised by Result.check() for a run that failed.

        try:
            s.run("1 / 0").check()
        except husk.RunError as error:
            print(error.result.error.type)  # ZeroDivisionError
    """

    def __init__(self, result: Result) -> None:
        own = result.error if result.ending == "error" else None
        super().__init__(f"{own.type}: {own.message}" if own else result._ended())
        self.result = result


class SessionInfo:
    """One session of a list: [info.session_id for info in manager.list_sessions()]"""

    def __init__(self, raw: Any) -> None:
        self.session_id: str = words(raw.id)
        self.runtime: str = words(raw.language)
        self.status: str = words(raw.status)
        self.dependencies: Dict[str, str] = json.loads(raw.dependencies) if raw.dependencies else {}
        self.age: int = raw.age_seconds
        self.idle: int = raw.idle_seconds
        self.language: str = self.runtime
        self.age_seconds: int = self.age
        self.idle_seconds: int = self.idle
        self.conversation: Optional[str] = text(raw.conversation)
        self.owner: Optional[str] = text(raw.owner)
        self.memory: Optional[int] = raw.memory or None
        self.memory_limit: int = raw.memory_limit
        self.disk_limit: int = raw.disk_limit
        self.cpus: float = raw.cpus
        self.limits: Dict[str, float] = {"memory": self.memory_limit, "disk": self.disk_limit, "cpus": self.cpus}
        self.name: Optional[str] = text(raw.name)
        self.note: Optional[str] = text(raw.note)
        self.success = True

    @property
    def id(self) -> str:
        """The same as session_id: manager.stop_session(info.id)"""
        return self.session_id

    def __repr__(self) -> str:
        return f"<Session {self.session_id} {self.runtime} {self.status}>"


class Variable:
    """A variable of the interpreter: s.status().variables[0].type"""

    def __init__(self, raw: Any) -> None:
        self.name: str = words(raw.name)
        self.type: str = words(raw.type)
        self.shape: str = words(raw.shape)
        self.bytes: Optional[int] = raw.bytes or None

    def __repr__(self) -> str:
        return f"<Variable {self.name}: {self.type} {self.shape}>".replace(" >", ">")


class RunState:
    """A run whose end has not been reported yet: s.status().runs[0].run"""

    def __init__(self, raw: Any) -> None:
        self.run: int = raw.number
        self.number: int = self.run
        self.kind: str = words(raw.kind)
        self.state: str = words(raw.state)
        self.age_ms: int = raw.age_ms
        self.age: float = self.age_ms / 1000


class Look:
    """The status of a session: s.status().memory

    `variables` is None if they are unknown. `fresh` is False if they were read before the cell that runs now."""

    def __init__(self, raw: Any) -> None:
        self.session = SessionInfo(raw.session.contents)
        self.seconds_left: Optional[int] = None if raw.left_seconds == 2**64 - 1 else raw.left_seconds
        self.idle_seconds_left: int = raw.idle_left_seconds
        self.left: Optional[int] = self.seconds_left
        self.idle_left: int = self.idle_seconds_left
        self.runs: List[RunState] = [RunState(raw.runs[i].contents) for i in range(raw.n_runs)]
        self.answered: bool = bool(raw.answered)
        self.memory: Optional[int] = raw.memory or None
        self.memory_limit: Optional[int] = raw.memory_limit or None
        disks = [raw.disks[i].contents for i in range(raw.n_disks)]
        self.disks: Dict[str, Tuple[int, int]] = {words(disk.path): (disk.used, disk.size) for disk in disks}
        self.variables: Optional[List[Variable]] = None
        if raw.has_variables:
            self.variables = [Variable(raw.variables[i].contents) for i in range(raw.n_variables)]
        self.more_variables: int = raw.more_variables
        self.fresh: bool = bool(raw.fresh)
        self.checkpoints: List[Checkpoint] = [Checkpoint(raw.checkpoints[i].contents) for i in range(raw.n_checkpoints)]
        self.no_checkpoints: Optional[str] = text(raw.no_checkpoints)
        self.branches: List[Checkpoint] = [Checkpoint(raw.branches[i].contents) for i in range(raw.n_branches)]


class Completion:
    """Replacements for code[start:end]: s.complete("import nu").matches. `more` is True if the list was cut."""

    def __init__(self, raw: Any) -> None:
        self.start: int = raw.start
        self.end: int = raw.end
        self.matches: List[str] = [words(raw.matches[i]) for i in range(raw.n)]
        self.more: bool = bool(raw.more)


class Help:
    """Help on a name; false if nothing is known: s.inspect("len").text"""

    def __init__(self, raw: Any) -> None:
        self.found: bool = bool(raw.found)
        self.text: str = words(raw.text)
        self.html: Optional[str] = text(raw.html)

    def __bool__(self) -> bool:
        return self.found


class Wholeness:
    """Whether code is complete: s.is_complete("if x:").completeness

    `completeness`, or `state`, is "complete", "incomplete" (then `indent` is the indentation of the next line), "invalid" or "unknown"."""

    def __init__(self, raw: Any) -> None:
        self.completeness: str = words(raw.state)
        self.state: str = self.completeness
        self.indent: str = words(raw.indent)


class FileResult:
    """The result of one entry of an import or export: s.get("plot.png")[0].host_path"""

    def __init__(self, raw: Any) -> None:
        self.success: bool = bool(raw.success)
        self.source: str = words(raw.source)
        self.path: str = words(raw.path)
        self.destination: str = self.path
        self.size: int = raw.bytes
        self.error: str = message(raw.error.contents.message) if raw.error else ""
        self.hint: str = message(raw.error.contents.hint) if raw.error else ""
        self.cause: str = words(raw.error.contents.cause) if raw.error else ""
        self.session_id: Optional[str] = text(raw.session)
        self.id: Optional[str] = text(raw.id)
        self.name: Optional[str] = text(raw.name)
        self.session: Optional[str] = self.session_id
        self.mime: Optional[str] = text(raw.mime)
        self.mime_type: Optional[str] = self.mime
        self.hash: Optional[str] = text(raw.hash)
        self.uri: Optional[str] = text(raw.uri)
        self.host_path: Optional[str] = text(raw.host_path)
        self.directory: bool = bool(raw.folder)
        self.download_url: None = None
        self.notices: List[str] = [words(raw.notices[i]) for i in range(raw.n_notices)]

    def __bool__(self) -> bool:
        return self.success

    def __repr__(self) -> str:
        return f"<File {self.path} {'ok' if self.success else self.error!r}>"


class FilesResult:
    """The results of all entries of an import or export, as a sequence: [file.path for file in s.put("a.csv", "b.csv")]"""

    def __init__(self, files: List[FileResult]) -> None:
        self.files = files
        self.success: bool = all(file.success for file in files)
        self.error = ""

    def check(self) -> FilesResult:
        """Returns itself if every entry was copied, and raises FilesError otherwise: manager.import_files(sid, ["a.csv"]).check()"""
        if not self.success:
            raise FilesError(self)
        return self

    def __bool__(self) -> bool:
        return self.success

    def __iter__(self) -> Iterator[FileResult]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, i: int) -> FileResult:
        return self.files[i]

    def __repr__(self) -> str:
        return f"<Files {self.files}>"


class FilesError(HuskError):
    """Some files could not be copied. `result` lists both the failed and the copied files.

        try:
            s.put("a.csv", "b.csv")
        except husk.FilesError as error:
            print([file.source for file in error.result if not file.success])
    """

    def __init__(self, result: FilesResult) -> None:
        failed = [file for file in result.files if not file.success]
        more = f" ({len(failed) - 1} more failed)" if len(failed) > 1 else ""
        super().__init__("file", failed[0].cause, failed[0].error + more, failed[0].hint)
        self.result = result


class Stopped:
    """True if there was a session to stop."""

    def __init__(self, success: bool) -> None:
        self.success = success

    def __bool__(self) -> bool:
        return self.success

    def __repr__(self) -> str:
        return f"<Stopped {self.success}>"


class Execution:
    """One run in a session's history."""

    def __init__(self, raw: Any) -> None:
        self.run: int = raw.number
        self.number: int = self.run
        self.kind: str = words(raw.kind)
        self.started_ms: int = raw.started_ms
        self.ended_ms: Optional[int] = raw.ended_ms or None
        self.started: float = self.started_ms / 1000
        self.ended: Optional[float] = raw.ended_ms / 1000 or None
        self.ending: Optional[str] = text(raw.ending)
        self.in_bytes: int = raw.in_bytes
        self.out_bytes: int = raw.out_bytes


def take_files(answer: Any) -> FilesResult:
    files = FilesResult([FileResult(raw) for raw in _lib.items(answer)])
    _lib.library.husk_files_free(answer)
    return files
