"""The persistent Python interpreter of a session: PID 1 starts this file, husk_kernel does the work.

This file is kept tiny, because Python compiles its start script at every start; it caches all other modules.
"""

import gc
import os
import sys

gc.disable()  # modules loaded now do not become garbage; main.run enables the collector again

# While the kernel loads itself, nothing that a session can write is on the import path or has run: -s excludes the
# user's site-packages with its .pth files, and PID 1 has renamed PYTHONPATH and the like. imports.py restores both for
# cells.
user_path = sys.path[1:]
sys.path[1:] = [entry for entry in user_path if entry.startswith((sys.prefix, sys.base_prefix))]
# Images without IPython get it from fit.py; their own modules come first.
if os.path.isdir("/opt/husk/ipython"):
    sys.path.append("/opt/husk/ipython")
    user_path.append("/opt/husk/ipython")

from husk_kernel import hello  # noqa: E402

hello.say()

from husk_kernel import main  # noqa: E402

main.run(user_path)
