"""The persistent Python interpreter of a session: PID 1 starts this file, husk_kernel does the work.

Kept tiny because a start script is the one file that Python compiles anew at every start.
"""

import gc
import os
import sys

gc.disable()  # nothing of what is loaded now will ever be garbage; main.run turns it on again

# While the kernel loads itself, nothing that a session can write is on the import path or has run: -s leaves out the user's
# site-packages with its .pth files, and PID 1 has renamed PYTHONPATH and the like. The kernel adds both for the cells (imports.py).
user_path = sys.path[1:]
sys.path[1:] = [entry for entry in user_path if entry.startswith((sys.prefix, sys.base_prefix))]
# In an image that has no IPython of its own (fit.py): after all that it has.
if os.path.isdir("/opt/husk/ipython"):
    sys.path.append("/opt/husk/ipython")
    user_path.append("/opt/husk/ipython")

from husk_kernel import hello  # noqa: E402

hello.say()

from husk_kernel import main  # noqa: E402

main.run(user_path)
