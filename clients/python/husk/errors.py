"""Exceptions. Each has a kind, a cause, a sentence and a next step. A run that fails raises none of them: its result says how it ended."""

from __future__ import annotations

from typing import Dict, Type


class HuskError(Exception):
    """The base class of all errors. Programs should test `kind` and `cause`, never the sentences.

        try:
            s.run("1")
        except husk.HuskError as error:
            print(error.kind, error.hint)
    """

    def __init__(self, kind: str, cause: str, message: str, hint: str = "") -> None:
        stop = "." if hint and message[-1:].isalnum() else ""
        super().__init__(f"{message}{stop} {hint}".strip())
        self.kind = kind
        self.cause = cause
        self.message = message
        self.hint = hint


class InvalidError(HuskError, ValueError):
    """The arguments are invalid. Example: s.run("1", timeout=10, run=3)."""


class NotFoundError(HuskError, ValueError):
    """There is no such session or file. Example: manager.execute_code("no-such", "1")."""


class ForeignError(HuskError, PermissionError):
    """The session or export belongs to another conversation. Example: the id of another conversation's session."""


class LimitError(HuskError, RuntimeError):
    """A configured limit was reached. Example: creating more than max_sessions sessions."""


class BusyError(HuskError, RuntimeError):
    """Too much is queued, or another server controls the session. Example: s.complete("x") while a cell runs."""


class DeadlineError(HuskError, TimeoutError):
    """The deadline of the call passed, and its run was interrupted. Example: s.run("work()", deadline=1)."""


class CancelledError(HuskError):
    """The call was cancelled, or its manager closed. Example: stop.cancel() from another thread."""


class EngineError(HuskError, RuntimeError):
    """The container engine is missing, refused the request or failed, or an image is missing. Example: Docker is not running."""


class SessionDiedError(HuskError, RuntimeError):
    """The session's container is gone; the message says why. Example: s.run("1") after the container was killed."""


class StoreError(HuskError, RuntimeError):
    """The database did not answer. Example: the disk of the database is full."""


class InstallError(HuskError, RuntimeError):
    """The dependencies could not be installed. The message ends with the installer's output. Example: husk.Session("python", ["no-such-package"])."""


_KINDS: Dict[str, Type[HuskError]] = {
    "invalid": InvalidError,
    "not_found": NotFoundError,
    "foreign": ForeignError,
    "limit": LimitError,
    "busy": BusyError,
    "timeout": DeadlineError,
    "cancelled": CancelledError,
    "engine": EngineError,
    "image": EngineError,
    "died": SessionDiedError,
    "store": StoreError,
    "install": InstallError,
}


def error_for(kind: str, cause: str, message: str, hint: str) -> HuskError:
    return _KINDS.get(kind, HuskError)(kind, cause, message, hint)
