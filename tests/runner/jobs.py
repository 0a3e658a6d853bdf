"""Jobs and the lanes that they run in: the longest first, and those that need the machine to themselves at the end."""

import contextlib
import itertools
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Time that an interrupted job has to clean up.
GRACE = 20
# More jobs than usual begin if this many CPUs were idle for this many seconds.
IDLE, SAMPLE = 0.4, 2


class Result:
    """The result of a job: how many tests passed, the names of those that failed, and (seconds, name) of each."""

    def __init__(self, passed=0, failures=(), times=()):
        self.passed = passed
        self.failures = list(failures)
        self.times = list(times)


class Job:
    """A part of a suite that runs by itself. `work(job)` returns a Result and starts programs with job.run(), which
    keeps their output until the job has ended. `alone`: nothing else runs meanwhile. Jobs of one `group` never run
    at the same time. `computes`: it keeps a core busy, while most jobs wait for containers.
    """

    numbers = itertools.count(1)

    def __init__(self, name, work, alone=False, group=None, computes=False):
        self.number = next(Job.numbers)
        self.name = name
        self.work = work
        self.alone = alone
        self.group = group
        self.computes = computes
        self.only = []
        self.seconds = self.cpu = 0.0
        self.log = None
        self.children = None

    def again(self, only=()):
        """Returns the same job again, to be run alone. For a file of pytest tests, `only` selects the tests that
        failed.
        """
        job = Job(self.name, self.work, alone=True)
        job.only = list(only)
        return job

    def run(self, command, behind=False, **more):
        """Runs a program to its end; returns its exit status. With `behind` it has a low priority: compilers and
        linters use the time in which tests wait.
        """
        command = ["nice", *command] if behind else command
        try:
            child = subprocess.Popen([str(c) for c in command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=self.log,
                                     stderr=subprocess.STDOUT, start_new_session=True, **more)
        except OSError as error:
            self.say(f"cannot run {command[0]}: {error.strerror}")
            return 127
        self.children.add(child.pid)
        try:
            _, status, used = os.wait4(child.pid, 0)
        finally:
            self.children.discard(child.pid)
        self.cpu += used.ru_utime + used.ru_stime
        child.returncode = os.waitstatus_to_exitcode(status)
        return child.returncode

    def say(self, text):
        self.log.write(f"{text}\n".encode())
        self.log.flush()

    def read_log(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")


class Processors:
    """Measures how much of the machine's CPU time is used, by all processes: most of a test's work is done by the engine
    and in containers.
    """

    def __init__(self):
        self.count = os.cpu_count() or 1
        self.tick = os.sysconf("SC_CLK_TCK")
        self.last = self.read()

    def read(self):
        """Returns the seconds that all CPUs were busy and idle since the machine started."""
        try:
            with open("/proc/stat", encoding="ascii") as file:
                user, nice, system, idle, wait, irq, softirq, steal = map(int, file.readline().split()[1:9])
        except (OSError, ValueError):
            return 0.0, 0.0
        return (user + nice + system + irq + softirq + steal) / self.tick, (idle + wait) / self.tick

    def idle(self):
        """Returns how many CPUs were idle on average since the last call that returned a number. Returns None if that
        call was less than SAMPLE seconds ago.
        """
        now = self.read()
        busy, idle = now[0] - self.last[0], now[1] - self.last[1]
        if busy + idle < SAMPLE * self.count:
            return None
        self.last = now
        return idle / (busy + idle) * self.count


class Lanes:
    """Runs jobs, `width` at a time, and calls done(job, result) for each, one after the other. No more jobs compute at
    the same time than there are cores, so that they leave lanes to jobs that wait. As long as CPUs are idle, more jobs
    begin, one after the other, up to `width_max` at a time.
    """

    def __init__(self, width, done, width_max=None):
        self.width = width
        self.width_max = max(width, width_max or 0)
        self.processors = Processors()
        self.running = 0
        self.cores = os.cpu_count() or 1  # free cores
        self.done = done
        self.changed = threading.Condition()
        self.busy = set()  # groups of running jobs
        self.children = set()  # pids; only their own jobs wait for them
        self.interrupted = False

    def run(self, jobs):
        """`jobs` are in the order in which they begin."""
        together, alone = ([job for job in jobs if job.alone == wanted] for wanted in (False, True))
        for waiting, width, width_max in ((together, self.width, self.width_max), (alone, 1, 1)):
            threads = [threading.Thread(target=self._lane, args=(waiting, width), daemon=True) for _ in range(min(width_max, len(waiting)))]
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():  # a join without a timeout would block signals
                    thread.join(0.5)

    def _lane(self, waiting, width):
        while job := self._next(waiting, width):
            with tempfile.TemporaryFile() as job.log:
                job.children = self.children
                began = time.monotonic()
                try:
                    result = job.work(job)
                except Exception as error:  # a job that cannot begin has failed, the others continue
                    result = Result(0, [f"{job.name}: {type(error).__name__}: {error}"])
                job.seconds = time.monotonic() - began
                with self.changed:
                    self.busy.discard(job.group)
                    self.running -= 1
                    self.cores += job.computes
                    self.done(job, result)
                    self.changed.notify_all()

    def _next(self, waiting, width):
        """Returns the first job whose group and core are free, or None if no job is left."""
        with self.changed:
            while waiting and not self.interrupted:
                job = next((job for job in waiting if job.group not in self.busy and job.computes <= self.cores), None)
                if job and (self.running < width or self._is_idle()):
                    waiting.remove(job)
                    if job.group:
                        self.busy.add(job.group)
                    self.running += 1
                    self.cores -= job.computes
                    return job
                self.changed.wait(SAMPLE)
        return None

    def _is_idle(self):
        idle = self.processors.idle()
        return idle is not None and idle > IDLE

    def interrupt(self):
        """Ends running jobs like ^C does, with time to clean up."""
        self.interrupted = True
        deadline = time.monotonic() + GRACE
        for signo in (signal.SIGINT, signal.SIGKILL):
            for pid in list(self.children):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signo)
            while self.children and time.monotonic() < deadline:
                time.sleep(0.1)
