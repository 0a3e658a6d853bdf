"""The suites as jobs. Each file of pytest tests is a job, and its tests that are marked `alone` are another one.
SUITES maps a name to a function that takes the words of -k and whether files are separate jobs, and returns jobs.
"""

import fcntl
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

from jobs import ROOT, Job, Result

TESTS = ROOT / "tests"
BUILD = ROOT / os.environ.get("BUILD", "build")
ASAN = BUILD.with_name(BUILD.name + "-asan")
TSAN = BUILD.with_name(BUILD.name + "-tsan")
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}
# Tests of code with threads: libhusk.
THREADED = ("libhusk",)
ALONE = re.compile(r"\bmark\.alone\b")
PRIVATE_ENGINE = re.compile(r"^import (private_engine|chaos|gvisor)\b", re.M)  # there is only one private engine, so its tests take turns


# --- unit tests: meson runs them, cmocka counts


def build(job, folder, only=(), programs=()):
    """Builds all, or only these unit tests or programs. Holds the lock of harness.ninja(), since two builds in one
    folder would break each other.
    """
    folder.mkdir(exist_ok=True)
    with open(folder / "test.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sanitizer = "thread" if folder == TSAN else "address,undefined"
        setup = ["meson", "setup", folder, f"-Db_sanitize={sanitizer}", "-Db_lundef=false", "-Doptimization=1"]
        targets = [*(f"tests/test-{name}" for name in only), *programs]
        return ((folder / "build.ninja").exists() or job.run(setup) == 0) and job.run(["ninja", "-C", folder, *targets], behind=True) == 0


def meson_work(folder, words, env=None, only=(), options=()):
    """`meson test`, with the counts of cmocka where it prints them; `only` selects some tests."""

    def work(job):
        if not build(job, folder, only):
            return Result(0, [f"{job.name}: does not build"])
        log = folder / "meson-logs" / "testlog.json"
        log.unlink(missing_ok=True)
        names = list(only)
        if words:
            listed = subprocess.run(["meson", "test", "-C", str(folder), "--list", *options], capture_output=True, text=True, check=False).stdout
            names = [line.split(" / ")[-1].strip() for line in listed.splitlines() if words in line]
            names = [name for name in names if not only or name in only]
            if not names:
                return Result()
        # Twice as many as there are cores, because the longest tests wait for a store.
        command = ["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", "--num-processes", str(2 * (os.cpu_count() or 1)),
                   *options]
        status = job.run([*command, *names], env={**os.environ, **(env or {})})
        result = Result()
        for line in log.read_text().splitlines() if log.exists() else []:
            _add_meson_test(job, result, json.loads(line))
        if status != 0 and not result.failures:
            result.failures.append(f"{job.name}: meson test ended with status {status}")
        if status == 0 and result.passed == 0:
            result.failures.append(f"{job.name}: no unit test ran (is cmocka installed?)")
        return result

    return work


def _add_meson_test(job, result, test):
    output = test.get("stdout", "") + test.get("stderr", "")
    good = sum(int(n) for n in re.findall(r"^\[  PASSED  \] (\d+) test\(s\)", output, re.M))
    bad = re.findall(r"^\[  FAILED  \] (?!\d+ test\(s\))(\S+)", output, re.M)
    name = f"{job.name}: {test['name']}"
    result.times.append((test.get("duration", 0), name))
    if test["result"] in ("OK", "EXPECTEDFAIL"):
        result.passed += good or 1
    else:
        result.passed += good
        result.failures += [f"{name}: {b}" for b in dict.fromkeys(bad)] or [f"{name}: {test['result']}"]


def unit(words, **_):
    """All unit tests run under ASan and UBSan. The quick tests also run without sanitizers, which would show nothing
    more for the slow tests. The corpora of the fuzz targets run here without sanitizers, and with them in their own
    suite.
    """
    return [Job("unit", meson_work(BUILD, words, options=("--no-suite", "slow")), computes=True),
            Job("unit-asan", meson_work(ASAN, words, SANITIZERS, options=("--no-suite", "fuzz-corpus")), computes=True),
            Job("unit-tsan", meson_work(TSAN, words, {"TSAN_OPTIONS": "halt_on_error=1"}, THREADED), computes=True)]


# --- fuzz targets: on their corpus, and briefly on new inputs; `make fuzz` runs each for minutes


FUZZ_SECONDS = 1  # of CPU time
# Mutations are the same in every run, so that an input that breaks a target is found by `make fuzz` (make test-long),
# not by the CI run of an unrelated change.
FUZZ_SEED = 1
# The limit that libFuzzer sets in a campaign (fuzz/run.sh): memory of an input, in addition to what ASan needs.
FUZZ_LIMITS = {"HUSK_LOG": "error", **SANITIZERS,
               "ASAN_OPTIONS": f"{SANITIZERS['ASAN_OPTIONS']}:hard_rss_limit_mb=384:max_allocation_size_mb=128:quarantine_size_mb=16"}


def fuzz_targets():
    return [path.stem.removeprefix("fuzz-") for path in sorted((TESTS / "fuzz").glob("fuzz-*.c"))]


def fuzz_target_work(target):
    """`found` keeps an input that breaks the target, takes too long or takes too much memory."""

    def work(job):
        program = f"tests/fuzz/fuzz-{target}"
        if not build(job, ASAN, programs=[program]):
            return Result(0, [f"{job.name}: does not build"])
        found = BUILD / "fuzz-found" / target
        found.parent.mkdir(exist_ok=True)
        command = [ASAN / program, "--seconds", FUZZ_SECONDS, "--seed", FUZZ_SEED, "--words", TESTS / "fuzz" / "words.dict", "--keep", found,
                   TESTS / "fuzz" / "corpus" / target]
        if job.run(command, behind=True, env={**os.environ, **FUZZ_LIMITS}) == 0:
            return Result(1)
        job.say(f"the input is kept: {found}; to run it again: {ASAN.name}/{program} {found}")
        return Result(0, [f"{job.name}: see {found}"])

    return work


def fuzz(words, **_):
    return [Job(f"fuzz/{target}", fuzz_target_work(target), computes=True) for target in fuzz_targets() if not words or words in target]


# --- lint


def lint(words, **_):
    def work(check):
        def run(job):
            if job.run([check], behind=True) == 0:
                return Result(1)
            return Result(0, [job.name])

        return run

    checks = [check for check in sorted((TESTS / "lint").glob("*.sh")) if check.name != "lib.sh" and (not words or words in check.name)]
    return [Job(f"lint/{check.stem}", work(check), computes=True) for check in checks]


# --- pytest


def python():
    venv = BUILD / "venv" / "bin" / "python"
    return str(venv) if venv.exists() else sys.executable


def read_report(job, report, status, words):
    """Converts a JUnit report and pytest's exit status into a Result."""
    if not report.exists():
        return Result(0, [f"{job.name}: pytest ended with status {status} and no report"])
    result = Result()
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        outcomes = {child.tag for child in case}
        full = f"{job.name.split('/')[0]}: {case.get('classname', '').split('.')[-1]}::{case.get('name')}"
        result.times.append((float(case.get("time") or 0), full))
        if outcomes & {"failure", "error"}:
            result.failures.append(full)
        elif "skipped" in outcomes:
            result.failures.append(f"{full} (skipped: nothing may be)")
        else:
            result.passed += 1
    # A test whose fixture fails after it passed is in the report twice.
    result.failures = list(dict.fromkeys(result.failures))
    if status not in (0, 1, 5) and not result.failures:
        result.failures.append(f"{job.name}: pytest ended with status {status}")
    if status == 5 and not words:
        result.failures.append(f"{job.name}: no test was found")
    return result


def chosen(paths, failures):
    """The tests of these failures (`suite: file::test`), in pytest's notation; the whole file if a failure names no
    test.
    """
    found = []
    for path in paths:
        own = [failure.split(f": {path.stem}::", 1) for failure in failures if f": {path.stem}::" in failure]
        found += [f"{path}::{name}" for _, name in own]
    return found or paths


def pytest_work(paths, words=None, marks=None, prefix=(), env=None):
    def work(job):
        report = BUILD / "junit" / f"{job.name.replace('/', '-')}.xml"
        report.parent.mkdir(exist_ok=True)
        report.unlink(missing_ok=True)
        # A short path, because sockets are made below it.
        base = pathlib.Path(os.environ["HUSK_TEST_FOLDER"], str(job.number))
        command = [*prefix, python(), "-B", "-m", "pytest", "-c", TESTS / "pytest.ini", "--rootdir", TESTS, "-q", f"--basetemp={base}",
                   f"--junitxml={report}", *(chosen(paths, job.only) if job.only else paths)]
        if words:
            command += ["-k", words]
        if marks:
            command += ["-m", marks]
        return read_report(job, report, job.run(command, env={**os.environ, **(env or {})}), words)

    return work


def pytest_jobs(suite, paths, words, split, prefix=()):
    """A job for each file, or one job for all. With -k, starting pytest many times takes longer than the tests."""
    if not split:
        return [Job(suite, pytest_work(paths, words, prefix=prefix))]
    jobs = []
    for path in paths:
        text = path.read_text()
        name = f"{suite}/{path.stem.removeprefix('test_')}"
        if "HUSK_TEST_LANGUAGE" in text:  # a table of languages; each column is a job
            columns = [column.stem for column in sorted((path.parent / "languages").glob("[!_]*.py"))]
            columns += [column.stem for column in sorted((path.parent / "languages" / "contrib").glob("[!_]*.py"))
                        if "QUICK" in column.read_text()]
            jobs += [Job(f"{name}-{column}", pytest_work([path], words, env={"HUSK_TEST_LANGUAGE": column})) for column in columns]
            continue
        group = "private engine" if PRIVATE_ENGINE.search(text) else None
        if not ALONE.search(text):
            jobs.append(Job(name, pytest_work([path], words, prefix=prefix), group=group))
            continue
        jobs.append(Job(name, pytest_work([path], words, "not alone", prefix=prefix), group=group))
        jobs.append(Job(f"{name}-alone", pytest_work([path], words, "alone", prefix=prefix), alone=True))
    return jobs


def files_of(suite, pattern="test_*.py"):
    return sorted((TESTS / suite).glob(pattern))


# --- suites that need an engine


def engine_problem():
    """Returns why tests that need containers cannot run, or None."""
    if not (BUILD / "husk").exists():
        return f"{BUILD.name}/husk is missing: run make"
    if not shutil.which("docker"):
        return "no docker client on the PATH: run ./setup-docker.sh"
    done = subprocess.run(["docker", "version", "--format", "{{.Server.Version}}"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"no Docker engine answers ({done.stderr.strip()}): run ./setup-docker.sh"
    for image in images():
        if subprocess.run(["docker", "image", "inspect", image], capture_output=True, check=False).returncode != 0:
            return f"the image {image} is missing: run ./setup-docker.sh"
    return None


def images():
    try:
        listed = json.loads((BUILD / "images.json").read_text())
    except (OSError, ValueError):
        return []
    own = [os.environ.get("HUSK_IMAGE_" + image["name"].upper()) for image in listed]
    return [instead or image["tag"] for image, instead in zip(listed, own)]


def with_engine(suite, make):
    """Returns the jobs of make(), or a job that fails and names the missing requirement."""
    problem = engine_problem()
    if not problem:
        return make()

    def fail(job):
        job.say(problem)
        return Result(0, [f"{suite}: {problem}"])

    return [Job(suite, fail)]


def container_suite(suite, words, split):
    return with_engine(suite, lambda: pytest_jobs(suite, files_of(suite), words, split))


def pid1(words, split):
    """PID 1 without an engine; needs root for its namespaces."""
    prefix = [] if os.geteuid() == 0 else ["sudo", "--non-interactive", "--preserve-env"]
    return pytest_jobs("pid1", files_of("pid1"), words, split, prefix)


# Packages for the Python kernel's tests that the image lacks.
KERNEL_TOOLS = ("pytest==8.4.2", "pytest-timeout==2.4.0", "plotly==6.3.1", "altair==5.5.0")
# Installed without dependencies: numpy, pandas and others come with the image.
KERNEL_TOOLS_ALONE = ("vl-convert-python==1.9.0.post1", "bokeh==3.9.2", "xyzservices==2026.9.1", "tornado==6.6.1", "PyYAML==6.0.3")


def kernel_tools(job, packages):
    """A folder with both lists for the Python of the image `packages`, filled once."""
    folder, stamp = BUILD / "kernel-tools", " ".join([*KERNEL_TOOLS, *KERNEL_TOOLS_ALONE, packages])
    with open(BUILD / "kernel-tools.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "stamp").exists() and (folder / "stamp").read_text() == stamp:
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        install = [python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--target", folder,
                   "--python-version", "3.13", "--only-binary=:all:"]
        # Compiled once by the Python that runs them. They are large, and every test process would compile them again.
        compiled = ["docker", "run", "--rm", "--network", "none", "--user", f"{os.getuid()}:{os.getgid()}", "--volume", f"{folder}:/tools",
                    "--entrypoint", "/usr/bin/python3", packages, "-m", "compileall", "-q", "/tools"]
        if any(job.run(command) != 0 for command in ([*install, *KERNEL_TOOLS], [*install, "--no-deps", *KERNEL_TOOLS_ALONE], compiled)):
            return None
        (folder / "stamp").write_text(stamp)
    return folder


def python_kernel_work(paths, words):
    """Runs in the image of the kernel, which has its packages."""

    def work(job):
        packages = next(image["packages_tag"] for image in json.loads((BUILD / "images.json").read_text()) if image["name"] == "python")
        tools = kernel_tools(job, packages)
        if not tools:
            return Result(0, [f"{job.name}: cannot install the tools"])
        out = BUILD / "junit" / job.name.replace("/", "-")
        out.mkdir(exist_ok=True, parents=True)
        out.chmod(0o777)
        report = out / "junit.xml"
        report.unlink(missing_ok=True)
        command = ["docker", "run", "--rm", "--init", "--network", "none", "--user", "65532:65532", "--workdir", "/tmp",
                   "--tmpfs", "/tmp:exec,mode=1777", "--tmpfs", "/home/sandbox:exec,uid=65532", "--env", "HOME=/home/sandbox",
                   "--env", "PYTHONPATH=/tools", "--env", "PYTHONDONTWRITEBYTECODE=1", "--entrypoint", "/usr/bin/python3",
                   "--label", f"husk.test={os.environ['HUSK_TEST_RUN']}"]
        for mount in (f"{ROOT}:/husk:ro", f"{tools}:/tools:ro", f"{out}:/report"):
            command += ["--volume", mount]
        command += [packages, "-m", "pytest", "-c", "/husk/tests/pytest.ini", "--rootdir", "/husk/tests", "-q",
                    "--junitxml=/report/junit.xml", *(f"/husk/tests/kernel/{path.name}" for path in paths)]
        if words:
            command += ["-k", words]
        return read_report(job, report, job.run(command), words)

    return work


def kernel(words, split):
    """Tests of each kernel. Python's run in its image, the others on the host: Node is there too, and R's tests start
    containers.
    """
    inside = files_of("kernel", "test_python*.py")
    outside = [path for path in files_of("kernel") if path not in inside]
    groups = [[path] for path in inside] if split else [inside]

    def make():
        names = [f"kernel/{group[0].stem.removeprefix('test_')}" if split else "kernel/python" for group in groups]
        return [Job(name, python_kernel_work(group, words), computes=True) for name, group in zip(names, groups)]

    return [*pytest_jobs("kernel", outside, words, split), *with_engine("kernel", make)]


SUITES = {
    "unit": unit,
    "lint": lint,
    "fuzz": fuzz,
    "pid1": pid1,
    "kernel": kernel,
    "e2e": functools.partial(container_suite, "e2e"),
    "scripts": functools.partial(container_suite, "scripts"),
    "chaos": functools.partial(container_suite, "chaos"),
    "clients": functools.partial(container_suite, "clients"),
    "page": functools.partial(container_suite, "page"),
    "dist": functools.partial(container_suite, "dist"),
    "conformance": functools.partial(pytest_jobs, "conformance", files_of("conformance")),
}


# --- long runs: the full versions of tests that `make test` shortens, one after the other


def fuzz_work(job):
    """A campaign over all targets; each is a test."""
    targets = fuzz_targets()
    status = job.run([TESTS / "fuzz" / "run.sh"])
    rows = {path.stem: path.read_text().strip().split("|") for path in (ROOT / "build-fuzz" / "logs").glob("*.row")}
    bad = [target for target in targets if target not in rows or rows[target][-1] != "0" or not rows[target][2]]
    if status != 0 and not bad:
        return Result(0, [f"{job.name}: tests/fuzz/run.sh ended with status {status}"])
    return Result(len(targets) - len(bad), [f"{job.name}: {target}" for target in bad])


def long_work(suite, file):
    return pytest_work([TESTS / suite / f"test_{file}.py"], env={"HUSK_TEST_LONG": "1"})


def contrib_work(job):
    """The whole table of behaviours for each runtime of runtimes/contrib/."""
    result = Result()
    for column in sorted((TESTS / "e2e" / "languages" / "contrib").glob("[!_]*.py")):
        env = {"HUSK_TEST_LONG": "1", "HUSK_TEST_LANGUAGE": column.stem}
        done = pytest_work([TESTS / "e2e" / "test_behaviours.py"], env=env)(job)
        result.passed += done.passed
        result.failures += done.failures
        result.times += done.times
    return result


# Files of e2e that also run in a cluster: the table of behaviours, and warm containers.
IN_CLUSTER = ("warm", "behaviours")


def cluster_work(job):
    """Sessions in a Kubernetes cluster, which is built first. Starting it and pushing the images counts as time of the first test."""
    if job.run([TESTS / "cluster" / "build.sh"]) != 0:
        return Result(0, [f"{job.name}: Kubernetes cannot be built"])
    files = [*sorted((TESTS / "e2e" / "long").glob("test_cluster_*.py")), *(TESTS / "e2e" / f"test_{file}.py" for file in IN_CLUSTER)]
    return pytest_work(files, env={"HUSK_TEST_LONG": "1", "HUSK_TEST_ENGINE": "kubernetes", "HUSK_TEST_LANGUAGE": "python",
                                   "PYTEST_ADDOPTS": "--timeout=900"})(job)


# Files of e2e that also run on Podman, and their tests of what only Docker does (docs/podman.md): how `docker stop` ends a container,
# options that the engine reports, late networks, stored images.
ON_PODMAN = ("lifecycle", "deaths", "endings", "adoption", "files", "network", "gate", "warm", "ps", "limits", "timeout", "info", "shell",
             "session_limits", "node", "behaviours")
NOT_ON_PODMAN = ("exec-stop", "socket-stop", "test_sessions_share_husk_s_own_network", "test_the_network_is_connected_while",
                 "test_an_engine_that_cannot_connect", "test_off_cannot_resolve", "test_a_network_that_is_switched_off",
                 "test_installs_reach_the_list")


def on_engine(engine):
    """The prefix of a command that has another engine (tests/engines/with.sh)."""
    return [TESTS / "engines" / "with.sh", engine]


def podman_work(job):
    """First `husk setup` builds the images, as a user does."""
    env = {"HUSK_TEST_LONG": "1", "HUSK_TEST_ENGINE": "podman", "HUSK_TEST_LANGUAGE": "python", "PYTEST_ADDOPTS": "--timeout=300"}
    if job.run([*on_engine("podman"), "env", "CONTAINER_ENGINE=podman", BUILD / "husk", "setup"]) != 0:
        return Result(0, [f"{job.name}: husk setup failed"])
    return pytest_work([TESTS / "e2e" / f"test_{file}.py" for file in ON_PODMAN], f"not ({' or '.join(NOT_ON_PODMAN)})",
                       prefix=on_engine("podman"), env=env)(job)


def docker26_work(job):
    """The whole end-to-end suite with Docker 26, whose client builds the images with BuildKit."""
    if job.run([*on_engine("docker26"), "make", "images", "test-images"]) != 0:
        return Result(0, [f"{job.name}: the images cannot be built"])
    status = job.run([*on_engine("docker26"), TESTS / "run", "e2e"])
    return Result(1) if status == 0 else Result(0, [f"{job.name}: tests/run e2e ended with status {status}"])


LONG = {
    "units": meson_work(BUILD, None, options=("--no-suite", "fuzz-corpus")),
    "chaos": long_work("chaos", "chaos"),
    "kills": long_work("e2e", "kills"),
    "soak": long_work("e2e", "soak"),
    "undo": pytest_work([TESTS / "kernel" / "test_undo_programs.py"], env={"HUSK_TEST_LONG": "1"}),
    "files": long_work("e2e", "files_large"),
    "mutations": long_work("e2e", "mutations"),
    "hostile": long_work("e2e", "hostile"),
    "http": pytest_work(sorted((TESTS / "e2e" / "long").glob("test_http_*.py")), env={"HUSK_TEST_LONG": "1"}),
    "gate": pytest_work([TESTS / "e2e" / "long" / "test_gate_programs.py"], env={"HUSK_TEST_LONG": "1"}),
    "jupyter": pytest_work([TESTS / "e2e" / "long" / "test_jupyter_clients.py"], env={"HUSK_TEST_LONG": "1"}),
    "gvisor": pytest_work([TESTS / "e2e" / f"test_{file}.py" for file in ("gvisor", "behaviours")],
                          env={"HUSK_TEST_LONG": "1", "HUSK_TEST_RUNTIME": "runsc"}),
    "cluster": cluster_work,
    "pool": pytest_work([TESTS / "e2e" / "long" / "test_pool_hosts.py"], env={"HUSK_TEST_LONG": "1", "PYTEST_ADDOPTS": "--timeout=900"}),
    "podman": podman_work,
    "docker26": docker26_work,
    "vm": pytest_work([TESTS / "e2e" / "long" / "test_vm.py"], env={"HUSK_TEST_LONG": "1"}),
    "dist": long_work("dist", "packages"),
    "page": pytest_work([TESTS / "page" / "long" / "test_browsers.py"], env={"HUSK_TEST_LONG": "1"}),
    "pages": pytest_work([TESTS / "scripts" / "long" / "test_pages.py"], env={"HUSK_TEST_LONG": "1"}),
    "contrib": contrib_work,
    "fuzz": fuzz_work,
}


def long_jobs(names):
    return with_engine("long", lambda: [Job(f"long/{name}", LONG[name], alone=True) for name in names or LONG])
