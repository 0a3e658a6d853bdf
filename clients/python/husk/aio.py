"""The same for asyncio: `async with husk.aio.Session("python") as s: (await s.run("1 + 1")).value`.

Calls wait in threads of their own. A task that is cancelled cancels its call, and what that had begun is interrupted."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
from typing import Any, AsyncIterator, Callable, Optional, Tuple, TypeVar

from ._lib import Cancel
from .manager import SandboxManager as _SandboxManager
from .results import Completion, FilesResult, Help, Look, Result, SessionInfo, Stopped, Wholeness

Returned = TypeVar("Returned")

# They only wait.
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
            future.exception()  # it was heard
        raise


class SandboxManager:
    """As husk.SandboxManager."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        self.sync = _SandboxManager(*arguments, **more)

    async def create_session(self, *arguments: Any, **more: Any) -> SessionInfo:
        return await _call(self.sync.create_session, *arguments, **more)

    async def execute_code(self, *arguments: Any, **more: Any) -> Result:
        return await _call(self.sync.execute_code, *arguments, **more)

    async def execute_terminal(self, *arguments: Any, **more: Any) -> Result:
        return await _call(self.sync.execute_terminal, *arguments, **more)

    async def look(self, *arguments: Any, **more: Any) -> Look:
        return await _call(self.sync.look, *arguments, **more)

    async def complete(self, *arguments: Any, **more: Any) -> Completion:
        return await _call(self.sync.complete, *arguments, **more)

    async def inspect(self, *arguments: Any, **more: Any) -> Help:
        return await _call(self.sync.inspect, *arguments, **more)

    async def is_complete(self, *arguments: Any, **more: Any) -> Wholeness:
        return await _call(self.sync.is_complete, *arguments, **more)

    async def import_files(self, *arguments: Any, **more: Any) -> FilesResult:
        return await _call(self.sync.import_files, *arguments, **more)

    async def export_files(self, *arguments: Any, **more: Any) -> FilesResult:
        return await _call(self.sync.export_files, *arguments, **more)

    async def read_export(self, *arguments: Any, **more: Any) -> bytes:
        return await _call(self.sync.read_export, *arguments, **more)

    async def stop_session(self, *arguments: Any, **more: Any) -> Stopped:
        return await _call(self.sync.stop_session, *arguments, **more)

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(_threads, self.sync.close)

    async def __aenter__(self) -> "SandboxManager":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()


class Session:
    """As husk.Session; it begins with `async with`."""

    def __init__(self, runtime: str = "python", dependencies: Any = None, *, manager: Optional[SandboxManager] = None, settings: Any = None,
                 **more: Any) -> None:
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

    async def look(self, **more: Any) -> Look:
        return await self.manager.look(self.id, **more)

    async def complete(self, *arguments: Any, **more: Any) -> Completion:
        return await self.manager.complete(self.id, *arguments, **more)

    async def inspect(self, *arguments: Any, **more: Any) -> Help:
        return await self.manager.inspect(self.id, *arguments, **more)

    async def is_complete(self, *arguments: Any, **more: Any) -> Wholeness:
        return await self.manager.is_complete(self.id, *arguments, **more)

    async def run(self, code: Optional[str] = None, timeout: Optional[int] = None, **more: Any) -> Result:
        return await self.manager.execute_code(self.id, code, timeout, **more)

    async def shell(self, command: Optional[str] = None, timeout: Optional[int] = None, **more: Any) -> Result:
        return await self.manager.execute_terminal(self.id, command, timeout, **more)

    async def put(self, *files: Any, **more: Any) -> FilesResult:
        return await self.manager.import_files(self.id, files, **more)

    async def get(self, *files: Any, **more: Any) -> FilesResult:
        return await self.manager.export_files(self.id, files, **more)

    async def stream(self, code: str, timeout: Optional[int] = None) -> AsyncIterator[Tuple[str, Any]]:
        """("stdout", text) and ("stderr", text) as they come, then ("result", Result)."""
        queue: "asyncio.Queue[Tuple[str, Any]]" = asyncio.Queue()
        task = asyncio.ensure_future(self.run(code, timeout, on_stdout=lambda text: queue.put_nowait(("stdout", text)),
                                              on_stderr=lambda text: queue.put_nowait(("stderr", text))))
        task.add_done_callback(lambda _: queue.put_nowait(("result", None)))
        try:
            while True:
                kind, text = await queue.get()
                if kind == "result":
                    yield kind, task.result()
                    return
                yield kind, text
        finally:
            task.cancel()
