"""Managers and sessions for asyncio: `async with husk.aio.Session("python") as s: (await s.run("1 + 1")).value`.

Each call waits in a thread. If a task is cancelled, its call is cancelled too, and the call's run is interrupted."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import os
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Iterable, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from ._lib import Cancel
from ._stream import Lines
from .manager import Entry
from .manager import SandboxManager as _SandboxManager
from .results import Checkpoint, Completion, FilesResult, Help, Look, Restored, Result, SessionInfo, Stopped, Wholeness

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import AsyncCallOptions, AsyncCodeOptions, AsyncCommandOptions, AsyncCopyOptions, AsyncCreateOptions

Returned = TypeVar("Returned")
Dependencies = Union[Mapping[str, Any], Iterable[str], None]
Folder = Union[str, "os.PathLike[str]", None]

# Many threads are cheap here, because they only wait.
_threads = concurrent.futures.ThreadPoolExecutor(max_workers=256, thread_name_prefix="husk")


async def _call(function: Callable[..., Returned], *arguments: Any, **more: Any) -> Returned:
    cancel = Cancel()
    loop = asyncio.get_running_loop()
    for name in ("on_stdout", "on_stderr", "on_output", "on_progress"):
        listener = more.get(name)
        if listener:
            more[name] = functools.partial(loop.call_soon_threadsafe, listener)
    future = loop.run_in_executor(_threads, functools.partial(function, *arguments, cancel=cancel, **more))
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        cancel.cancel()
        await asyncio.wait([future])
        if not future.cancelled():
            future.exception()  # marks the exception as retrieved, or asyncio would log it
        raise


class SandboxManager:
    """Like husk.SandboxManager, but with coroutines:

        async with husk.aio.SandboxManager() as manager:
            info = await manager.create_session("python")
            print((await manager.execute_code(info.session_id, "1 + 1")).value)
    """

    def __init__(self, settings: Optional[Mapping[str, Any]] = None, *, environment: bool = True, env_file: Optional[str] = None,
                 conversation: Union[str, bool, None] = None, max_sessions: int = 0, keep_sessions: bool = False) -> None:
        self.sync = _SandboxManager(settings, environment=environment, env_file=env_file, conversation=conversation,
                                    max_sessions=max_sessions, keep_sessions=keep_sessions)

    async def create_session(self, runtime: str = "python", dependencies: Dependencies = None,
                             **more: Unpack[AsyncCreateOptions]) -> SessionInfo:
        """Creates a session: (await manager.create_session("r", network=False)).session_id"""
        return await _call(self.sync.create_session, runtime, dependencies, **more)

    async def execute_code(self, session_id: str, code: Optional[str] = None, timeout: Optional[int] = None,
                           **more: Unpack[AsyncCodeOptions]) -> Result:
        """Runs a cell: await manager.execute_code(sid, "x = 1", on_stdout=print)"""
        return await _call(self.sync.execute_code, session_id, code, timeout, **more)

    async def execute_terminal(self, session_id: str, command: Optional[str] = None, timeout: Optional[int] = None,
                               **more: Unpack[AsyncCommandOptions]) -> Result:
        """Runs a command with bash: await manager.execute_terminal(sid, "ls", cwd="/tmp")"""
        return await _call(self.sync.execute_terminal, session_id, command, timeout, **more)

    async def status(self, session_id: str, *, keep_alive: bool = False, **more: Unpack[AsyncCallOptions]) -> Look:
        """The status of a session: (await manager.status(sid)).seconds_left"""
        return await _call(self.sync.status, session_id, keep_alive=keep_alive, **more)

    look = status  # the name in 0.1

    async def checkpoint(self, session_id: str, name: str, **more: Unpack[AsyncCallOptions]) -> Checkpoint:
        """Saves the state of an interpreter under a name: await manager.checkpoint(sid, "loaded")"""
        return await _call(self.sync.checkpoint, session_id, name, **more)

    async def undo(self, session_id: str, to: Union[str, int], **more: Unpack[AsyncCallOptions]) -> Restored:
        """Returns to a checkpoint, by its name or by its run: (await manager.undo(sid, "loaded")).missing"""
        return await _call(self.sync.undo, session_id, to, **more)

    async def drop_checkpoint(self, session_id: str, which: Union[str, int], **more: Unpack[AsyncCallOptions]) -> None:
        """Drops a checkpoint: await manager.drop_checkpoint(sid, "loaded")"""
        await _call(self.sync.drop_checkpoint, session_id, which, **more)

    async def branch(self, session_id: str, *names: str, **more: Unpack[AsyncCallOptions]) -> None:
        """Copies an interpreter into branches: await manager.branch(sid, "mean", "median")"""
        await _call(self.sync.branch, session_id, *names, **more)

    async def keep(self, session_id: str, branch: str, **more: Unpack[AsyncCallOptions]) -> Restored:
        """Makes a branch the main interpreter: (await manager.keep(sid, "mean")).missing"""
        return await _call(self.sync.keep, session_id, branch, **more)

    async def complete(self, session_id: str, code: str, cursor: Optional[int] = None, **more: Unpack[AsyncCallOptions]) -> Completion:
        """Completions at the cursor: (await manager.complete(sid, "import nu")).matches"""
        return await _call(self.sync.complete, session_id, code, cursor, **more)

    async def inspect(self, session_id: str, code: str, cursor: Optional[int] = None, *, detail: bool = False,
                      **more: Unpack[AsyncCallOptions]) -> Help:
        """Help on the name at the cursor: (await manager.inspect(sid, "len")).text"""
        return await _call(self.sync.inspect, session_id, code, cursor, detail=detail, **more)

    async def is_complete(self, session_id: str, code: str, **more: Unpack[AsyncCallOptions]) -> Wholeness:
        """Whether code is complete: (await manager.is_complete(sid, "if x:")).state"""
        return await _call(self.sync.is_complete, session_id, code, **more)

    async def import_files(self, session_id: str, files: Sequence[Entry], **more: Unpack[AsyncCopyOptions]) -> FilesResult:
        """Copies files into a session, with a result for each: await manager.import_files(sid, ["sales.csv"])"""
        return await _call(self.sync.import_files, session_id, files, **more)

    async def export_files(self, session_id: str, files: Sequence[Entry], *, to: Folder = None,
                           **more: Unpack[AsyncCopyOptions]) -> FilesResult:
        """Copies files out of a session, with a result for each: await manager.export_files(sid, ["plot.png"], to=".")"""
        return await _call(self.sync.export_files, session_id, files, to=to, **more)

    async def read_export(self, export_id: str, max_bytes: int = 0, **more: Unpack[AsyncCallOptions]) -> bytes:
        """The content of an export: await manager.read_export(done[0].id)"""
        return await _call(self.sync.read_export, export_id, max_bytes, **more)

    async def stop_session(self, session_id: str, **more: Unpack[AsyncCallOptions]) -> Stopped:
        """Ends a session; false if there is no such session: await manager.stop_session(sid)"""
        return await _call(self.sync.stop_session, session_id, **more)

    async def close(self) -> None:
        """Ends the sessions of this manager, as the end of `async with` does: await manager.close()"""
        await asyncio.get_running_loop().run_in_executor(_threads, self.sync.close)

    async def __aenter__(self) -> "SandboxManager":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()


class Session:
    """Like husk.Session, but with coroutines. `async with` creates the session:

        async with husk.aio.Session("python") as s:
            print((await s.run("1 + 1")).json())
    """

    def __init__(self, runtime: str = "python", dependencies: Dependencies = None, *, manager: Optional[SandboxManager] = None,
                 settings: Optional[Mapping[str, Any]] = None, **more: Unpack[AsyncCreateOptions]) -> None:
        self._own = manager is None
        self.manager = manager or SandboxManager(settings)
        self._wanted = (runtime, dependencies, more)
        self.id = ""

    async def __aenter__(self) -> "Session":
        runtime, dependencies, more = self._wanted
        try:
            self.id = (await self.manager.create_session(runtime, dependencies, **more)).session_id
        except BaseException:
            if self._own:
                await self.manager.close()
            raise
        return self

    async def __aexit__(self, *_: Any) -> None:
        if self._own:
            await self.manager.close()
        else:
            await self.manager.stop_session(self.id)

    async def status(self, *, keep_alive: bool = False, **more: Unpack[AsyncCallOptions]) -> Look:
        """The status of the session: (await s.status()).variables"""
        return await self.manager.status(self.id, keep_alive=keep_alive, **more)

    look = status  # the name in 0.1

    async def checkpoint(self, name: str, **more: Unpack[AsyncCallOptions]) -> Checkpoint:
        """Saves the state of the interpreter under a name: await s.checkpoint("loaded")"""
        return await self.manager.checkpoint(self.id, name, **more)

    async def undo(self, to: Union[str, int], **more: Unpack[AsyncCallOptions]) -> Restored:
        """Returns to a checkpoint, by its name or by its run: (await s.undo("loaded")).missing"""
        return await self.manager.undo(self.id, to, **more)

    async def drop_checkpoint(self, which: Union[str, int], **more: Unpack[AsyncCallOptions]) -> None:
        """Drops a checkpoint: await s.drop_checkpoint("loaded")"""
        await self.manager.drop_checkpoint(self.id, which, **more)

    async def branch(self, *names: str, **more: Unpack[AsyncCallOptions]) -> None:
        """Copies the interpreter into branches: await s.branch("mean", "median"); await s.run("x", branch="mean")"""
        await self.manager.branch(self.id, *names, **more)

    async def keep(self, branch: str, **more: Unpack[AsyncCallOptions]) -> Restored:
        """Makes a branch the main interpreter: (await s.keep("mean")).missing"""
        return await self.manager.keep(self.id, branch, **more)

    async def complete(self, code: str, cursor: Optional[int] = None, **more: Unpack[AsyncCallOptions]) -> Completion:
        """Completions at the cursor: (await s.complete("import nu")).matches"""
        return await self.manager.complete(self.id, code, cursor, **more)

    async def inspect(self, code: str, cursor: Optional[int] = None, *, detail: bool = False, **more: Unpack[AsyncCallOptions]) -> Help:
        """Help on the name at the cursor: (await s.inspect("len")).text"""
        return await self.manager.inspect(self.id, code, cursor, detail=detail, **more)

    async def is_complete(self, code: str, **more: Unpack[AsyncCallOptions]) -> Wholeness:
        """Whether code is complete: (await s.is_complete("if x:")).state"""
        return await self.manager.is_complete(self.id, code, **more)

    async def run(self, code: Optional[str] = None, timeout: Optional[int] = None, **more: Unpack[AsyncCodeOptions]) -> Result:
        """Runs a cell: (await s.run("1 + 1")).json()"""
        return await self.manager.execute_code(self.id, code, timeout, **more)

    async def shell(self, command: Optional[str] = None, timeout: Optional[int] = None, **more: Unpack[AsyncCommandOptions]) -> Result:
        """Runs a command with bash: (await s.shell("ls")).stdout"""
        return await self.manager.execute_terminal(self.id, command, timeout, **more)

    async def put(self, *files: Entry, **more: Unpack[AsyncCopyOptions]) -> FilesResult:
        """Copies files and folders of this machine into the session, or raises FilesError: await s.put("sales.csv")"""
        return (await self.manager.import_files(self.id, files, **more)).check()

    async def get(self, *files: Entry, to: Folder = None, **more: Unpack[AsyncCopyOptions]) -> FilesResult:
        """Copies files and folders out of the session, or raises FilesError: await s.get("plot.png", to="results")"""
        return (await self.manager.export_files(self.id, files, to=to, **more)).check()

    async def stream(self, code: str, timeout: Optional[int] = None, **more: Unpack[AsyncCallOptions]) -> AsyncIterator[Tuple[str, Any]]:
        """Yields ("stdout", line) and ("stderr", line) as they are printed, each with its newline, then ("result", Result).

            async for kind, line in s.stream("for i in range(3): print(i)"):
                print(kind, line)
        """
        queue: "asyncio.Queue[Tuple[str, Any]]" = asyncio.Queue()
        task = asyncio.ensure_future(self.run(code, timeout, on_stdout=lambda text: queue.put_nowait(("stdout", text)),
                                              on_stderr=lambda text: queue.put_nowait(("stderr", text)), **more))
        task.add_done_callback(lambda _: queue.put_nowait(("result", None)))
        lines = Lines()
        try:
            while True:
                kind, text = await queue.get()
                for item in lines.end() if kind == "result" else lines.feed(kind, text):
                    yield item
                if kind == "result":
                    yield kind, task.result()
                    return
        finally:
            task.cancel()
