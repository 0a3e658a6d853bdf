"""Husk: a real computer for programs and their agents, with a hard shell around it.

    import husk

    with husk.Session("python") as s:
        print(s.run("1 + 1").value)

Sessions are persistent interpreters and shells, each in its own hardened container. `SandboxManager` has the calls of the MCP tools,
`Session` is one session, and `husk.aio` has both for asyncio. A run that fails raises no exception: its result says how it ended."""

from . import aio
from ._lib import Cancel
from .errors import (
    BusyError,
    CancelledError,
    DeadlineError,
    EngineError,
    ForeignError,
    HuskError,
    InstallError,
    InvalidError,
    LimitError,
    NotFoundError,
    SessionDiedError,
    StoreError,
)
from .manager import Branch, SandboxManager, Session, languages, version
from .results import (
    Checkpoint,
    Completion,
    Display,
    FileResult,
    FilesError,
    FilesResult,
    Help,
    Look,
    Restored,
    Result,
    RunError,
    SessionInfo,
    Variable,
    Wholeness,
)

__version__ = version()

__all__ = [
    "Branch", "BusyError", "Cancel", "CancelledError", "Checkpoint", "Completion", "DeadlineError", "Display", "EngineError", "FileResult",
    "FilesError", "FilesResult", "ForeignError", "Help", "HuskError", "InstallError", "InvalidError", "LimitError", "Look",
    "NotFoundError", "Restored", "Result", "RunError", "SandboxManager", "Session", "SessionDiedError", "SessionInfo", "StoreError",
    "Variable", "Wholeness", "aio", "languages", "version",
]
