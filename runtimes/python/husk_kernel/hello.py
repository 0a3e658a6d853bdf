"""The hello of the kernel link (docs/protocol.md, section 2), before anything slow is loaded.

PID 1 may send messages from here on. They wait in the socket until the kernel reads them.
"""

import os
import sys

from .interrupts import interrupts

VERSION = 1


def message(lost=None):
    """Return the hello of this process, or that of a copy, which lacks some things."""
    version = sys.version.split()[0]
    more = ""
    if lost is not None:
        import json

        more = f',"lost":{json.dumps(lost)}'
    body = f'{{"op":"hello","version":{VERSION},"language_version":"{version}","looks":true,"queries":true,"forks":true{more}}}'.encode()
    return len(body).to_bytes(4) + body


def say():
    interrupts.install()  # a signal must not end a kernel that has said hello
    os.write(int(os.environ["HUSK_LINK"].removeprefix("fd:")), message())
