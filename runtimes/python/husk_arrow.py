"""Lets the threads of pyarrow finish before the interpreter ends. Imported by husk_deps.pth.

A thread of pyarrow's pools can hold the last reference to a Python file after the function that read the file has
returned. To release the file, the thread takes Python's lock. If the interpreter is ending by then, Python ends the
thread inside a C++ destructor, which aborts the process (apache/arrow issues 33975 and 50482). read_parquet() is
affected, because pandas opens the file itself.
"""

import atexit
import sys

WAIT_MAX = 5  # seconds, because reading one of the user's files may block forever


def wait_for_threads():
    lib = sys.modules.get("pyarrow.lib")
    if lib is None:
        return
    import ctypes
    import time

    arrow = ctypes.CDLL(lib.__file__)  # also finds the names of the libraries that it is linked with
    try:
        pools = (arrow._ZN5arrow8internal16GetCpuThreadPoolEv, arrow._ZN5arrow2io8internal15GetIOThreadPoolEv)
        tasks = arrow._ZN5arrow8internal10ThreadPool11GetNumTasksEv
    except AttributeError:  # another version of Arrow
        return
    tasks.argtypes = [ctypes.c_void_p]
    for pool in pools:
        pool.restype = ctypes.c_void_p
    end = time.monotonic() + WAIT_MAX
    # One pool can give work to the other.
    while sum(tasks(pool()) for pool in pools) > 0 and time.monotonic() < end:
        time.sleep(0.001)


atexit.register(wait_for_threads)  # registered first, so called last
