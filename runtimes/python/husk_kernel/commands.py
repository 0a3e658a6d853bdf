"""Shell commands of a cell: `!cmd`, `names = !cmd`, %%bash and the like, os.system.

Children write directly to file descriptors 1 and 2, without a pty or a thread in between, so their output arrives at
once and in order. An interrupt reaches them because they are in the kernel's process group.
"""

import functools
import os
import signal
import subprocess
from subprocess import PIPE, STDOUT  # noqa: F401 (for callers of shell)

from IPython.core.magic import cell_magic, line_magic, magics_class
from IPython.core.magics.script import ScriptMagics
from IPython.utils.process import arg_split

from .imports import forget_folders
from .interrupts import interrupts

BASH = "/bin/bash" if os.path.exists("/bin/bash") else None
GRACE_SECONDS = 0.5  # well within the time that PID 1 gives the kernel


def run(command, **options):
    """Run a command to its end; return its process and its output to pipes. After an interrupt, the command gets
    GRACE_SECONDS to end before it is killed.
    """
    with interrupts:
        child = subprocess.Popen(command, **options)
    try:
        output = child.communicate()
    except BaseException:
        try:
            child.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        raise
    return child, output


def shell(command, **options):
    child, output = run(command, shell=True, executable=BASH, **options)
    forget_folders()  # the command may have been pip
    return child.returncode, output[0]


def _interruptible_system(system):
    """Make an interrupted command raise KeyboardInterrupt. C's system() ignores SIGINT while it waits, so a loop that
    calls it could not be interrupted.
    """

    @functools.wraps(system)
    def wrapper(command):
        status = system(command)
        if os.waitstatus_to_exitcode(status) in (-signal.SIGINT, 128 + signal.SIGINT):
            raise KeyboardInterrupt
        return status

    return wrapper


def install():
    os.system = _interruptible_system(os.system)


@magics_class
class Scripts(ScriptMagics):
    """%%script, %%bash, %%sh, … without the helper thread that copies the output in IPython's own version."""

    @cell_magic("script")
    def shebang(self, line, cell):
        args, command = ScriptMagics.shebang.parser.parse_known_args(arg_split(line))
        options = {"stdin": _as_file(cell)}
        if args.out:
            options["stdout"] = subprocess.PIPE
        if args.err:
            options["stderr"] = subprocess.PIPE
        try:
            if args.bg:
                self._background(subprocess.Popen(command, **options), args)
                return
            child, output = run(command, **options)
        finally:
            os.close(options["stdin"])
        for name, data in zip((args.out, args.err), output, strict=True):
            if name:
                self.shell.user_ns[name] = data.decode("utf-8", "replace")
        if child.returncode and args.raise_error:
            raise subprocess.CalledProcessError(child.returncode, command)

    def _background(self, child, args):
        self.bg_processes.append(child)
        names = {args.proc: child, args.out: child.stdout, args.err: child.stderr}
        self.shell.user_ns.update({name: value for name, value in names.items() if name})

    @line_magic("killbgscripts")
    def killbgscripts(self, _line=""):
        super().killbgscripts()

    def _gc_bg_processes(self):
        self.bg_processes = [child for child in self.bg_processes if child.poll() is None]


def _as_file(text):
    """Returns the script as a file in memory for the child's stdin, since a pipe could fill up."""
    fd = os.memfd_create("cell")
    with open(fd, "wb", closefd=False) as file:
        file.write(text.encode("utf-8", "replace") + b"\n")
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
