"""The persistent Python interpreter of a session: PID 1 starts this file, husk_kernel does the work.

Kept tiny because the start script is the one file that Python compiles at every start.
"""

import gc
import os
import sys

gc.disable()  # nothing that is loaded now becomes garbage; main.run turns it on again

# While the kernel loads itself, nothing that a session can write is on the import path or has run: -s excludes the
# user's site-packages with its .pth files, and PID 1 has renamed PYTHONPATH and the like. The kernel adds both for
# the cells (imports.py).
user_path = sys.path[1:]
sys.path[1:] = [entry for entry in user_path if entry.startswith((sys.prefix, sys.base_prefix))]
# In an image without IPython (fit.py): after all its own modules.
if os.path.isdir("/opt/husk/ipython"):
    sys.path.append("/opt/husk/ipython")
    user_path.append("/opt/husk/ipython")

from husk_kernel import hello  # noqa: E402

hello.say()

from husk_kernel import main  # noqa: E402

main.run(user_path)
