"""The output of a run, line by line, while it runs."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

from ._lib import Cancel

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .manager import Session
    from .options import CallOptions

Item = Tuple[str, Any]


class Lines:
    """Cuts the text of several streams into lines, each with its newline."""

    def __init__(self) -> None:
        self.rest: Dict[str, str] = {}

    def feed(self, kind: str, text: str) -> List[Item]:
        *lines, self.rest[kind] = (self.rest.get(kind, "") + text).split("\n")
        return [(kind, line + "\n") for line in lines]

    def end(self) -> List[Item]:
        return [(kind, text) for kind, text in self.rest.items() if text]


def stream_lines(session: "Session", code: str, timeout: Optional[int], **more: "Unpack[CallOptions]") -> Iterator[Item]:
    """Executes the run in its own thread and yields its lines in the caller's thread."""
    items: "queue.Queue[Tuple[str, Any]]" = queue.Queue()
    cancel = more.get("cancel") or Cancel()
    deadline = more.get("deadline")

    def work() -> None:
        try:
            items.put(("result", session.run(code, timeout, on_stdout=lambda text: items.put(("stdout", text)),
                                             on_stderr=lambda text: items.put(("stderr", text)), deadline=deadline, cancel=cancel)))
        except BaseException as error:  # raised in the caller's thread
            items.put(("raised", error))

    thread = threading.Thread(target=work, name="husk-stream", daemon=True)
    thread.start()
    lines = Lines()
    ended = False
    try:
        while True:
            kind, value = items.get()
            ended = kind in ("result", "raised")
            yield from lines.end() if ended else lines.feed(kind, value)
            if kind == "raised":
                raise value
            if ended:
                yield kind, value
                return
    finally:
        if not ended:
            cancel.cancel()
        thread.join()
