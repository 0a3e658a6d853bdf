"""The keyword arguments of calls, for type checkers and editors: mypy reports a misspelt argument before the program runs."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, TypedDict, Union

from ._lib import Cancel

Output = Callable[[str], Any]
Size = Union[str, int]


class AsyncCallOptions(TypedDict, total=False):
    """Options of every asyncio call that waits. deadline: seconds after which DeadlineError is raised.

        await s.run("work()", deadline=10)
    """

    deadline: Optional[float]


class CallOptions(AsyncCallOptions, total=False):
    """Options of every call that waits. cancel: a Cancel, which ends the call from another thread.

        stop = husk.Cancel()
        s.run("work()", deadline=10, cancel=stop)
    """

    cancel: Optional[Cancel]


class _Run(TypedDict, total=False):
    on_stdout: Optional[Output]
    on_stderr: Optional[Output]
    env: Optional[Mapping[str, str]]
    wait: Optional[int]
    run: Optional[int]
    interrupt: bool
    interactive: bool
    input: Optional[str]


class _Code(_Run, total=False):
    restart: bool
    branch: Optional[str]


class _Command(_Run, total=False):
    cwd: Optional[str]
    rows: int
    cols: int


class _Create(TypedDict, total=False):
    network: Union[bool, Sequence[str], None]
    env: Optional[Mapping[str, str]]
    cwd: Optional[str]
    memory: Optional[Size]
    cpus: Optional[float]
    disk: Optional[Size]
    image: Optional[str]
    name: Optional[str]
    secrets: Optional[Iterable[str]]
    on_output: Optional[Output]


class _Copy(TypedDict, total=False):
    on_progress: Optional[Output]


class CodeOptions(_Code, CallOptions, total=False):
    """Options of Session.run(): s.run("train()", wait=20, on_stdout=print)"""


class CommandOptions(_Command, CallOptions, total=False):
    """Options of Session.shell(): s.shell("make", cwd="project", env={"CC": "clang"})"""


class CreateOptions(_Create, CallOptions, total=False):
    """Options of Session() and create_session(): husk.Session("python", memory="4g", network=False)"""


class CopyOptions(_Copy, CallOptions, total=False):
    """Options of Session.put() and Session.get(): s.put("data", on_progress=print)"""


class AsyncCodeOptions(_Code, AsyncCallOptions, total=False):
    """Options of aio.Session.run(): await s.run("train()", wait=20)"""


class AsyncCommandOptions(_Command, AsyncCallOptions, total=False):
    """Options of aio.Session.shell(): await s.shell("make", cwd="project")"""


class AsyncCreateOptions(_Create, AsyncCallOptions, total=False):
    """Options of aio.Session() and its manager's create_session(): husk.aio.Session("r", cpus=1)"""


class AsyncCopyOptions(_Copy, AsyncCallOptions, total=False):
    """Options of aio.Session.put() and get(): await s.put("data")"""
