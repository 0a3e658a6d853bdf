"""The hello of the kernel link (docs/protocol.md, section 2), before anything slow is loaded.

PID 1 may send messages from here on. They wait in the socket until the kernel reads them.
"""

import os
import sys

from .interrupts import interrupts

VERSION = 1


def say():
    interrupts.install()  # a signal must not end a kernel that has said hello
    version = sys.version.split()[0]
    body = f'{{"op":"hello","version":{VERSION},"language_version":"{version}","looks":true,"queries":true}}'.encode()
    os.write(int(os.environ["HUSK_LINK"].removeprefix("fd:")), len(body).to_bytes(4) + body)
