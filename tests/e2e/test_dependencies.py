"""create_session(dependencies=…): with real installers, with PyPI if it can be reached, and with indexes that the tests
build themselves.
"""

import json
import os
import pathlib
import subprocess
import sys

import harness
import package_index
import pytest
from dependencies import INSTALL, PYPROJECT, create, left, session_of
from harness import docker, wait_until


# --- installed packages


def test_pypi(begin):
    server = begin()
    created = create(server, dependencies={"six": "1.16.0"})
    session = session_of(server, created)
    assert created.dependencies == {"six": "1.16.0"}
    assert session.code("import six; six.__version__").ok().value == "'1.16.0'"
    assert session.shell("python3 -c 'import six; print(six.__file__)'").stdout.startswith("/opt/husk/deps/")


def test_versions_ranges_and_extras(begin, index):
    server = begin(**index.pip())
    created = create(server, dependencies={"husk-demo[more]": ">=1.0,<2", "matplotlib": ""})
    session = session_of(server, created)
    assert created.dependencies["husk-demo[more]"] == "1.5"
    assert created.dependencies["matplotlib"]  # from the image
    assert session.code("import husk_demo, husk_other; husk_demo.version, husk_other.version").ok().value == "('1.5', '3.1')"
    exact = create(server, dependencies={"husk-demo": "1.0"})
    assert exact.dependencies == {"husk-demo": "1.0"}
    newest = create(server, dependencies={"husk-demo": ""}, network=False)
    assert newest.dependencies == {"husk-demo": "2.0"}
    assert session_of(server, newest).code("import husk_demo; husk_demo.version").ok().value == "'2.0'"


def test_a_version_other_than_the_images_is_installed(begin, index):
    package_index.add_wheel(index.folder, "cycler", "99.1", {"cycler/__init__.py": "__version__ = '99.1'\n"})
    server = begin(**index.pip())
    session = session_of(server, create(server, dependencies={"cycler": "99.1"}))
    assert session.code("import cycler; cycler.__version__").ok().value == "'99.1'"
    assert session.shell("python3 -c 'import cycler; print(cycler.__version__)'").stdout == "99.1\n"


# evidence: installer-report
def test_a_package_cannot_forge_its_version(begin, index):
    """A .pth file runs when Python starts with the packages. The process that reads versions starts without them."""
    forge = "import os; os.path.exists('/proc/self/fd/199') and (os.write(199, b'{\"husk-liar\":\"9\"}'), os._exit(0))\n"
    package_index.add_wheel(index.folder, "husk-liar", "1.0", {"husk_liar.py": "", "husk_liar.pth": forge})
    server = begin(**index.pip())
    assert create(server, dependencies={"husk-liar": "1.0"}).dependencies == {"husk-liar": "1.0"}


def test_source_with_c_is_compiled(begin, index):
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", index.folder / "simple" / "setuptools",
                    "setuptools==80.9.0"], check=True, stdin=subprocess.DEVNULL)
    package_index.add_tar(index.folder / "simple" / "husk-native" / "husk_native-1.0.tar.gz", "husk_native-1.0", {
        "PKG-INFO": "Metadata-Version: 2.1\nName: husk-native\nVersion: 1.0\n",
        "pyproject.toml": PYPROJECT,
        "setup.py": "from setuptools import setup, Extension\n"
                    "setup(name='husk-native', version='1.0', ext_modules=[Extension('husk_native', ['native.c'])])\n",
        "native.c": '#include <Python.h>\nstatic struct PyModuleDef m = { PyModuleDef_HEAD_INIT, "husk_native", "compiled", -1, NULL };\n'
                    "PyMODINIT_FUNC PyInit_husk_native(void) { return PyModule_Create(&m); }\n"})
    server = begin(**index.pip())
    session = session_of(server, create(server, dependencies={"husk-native": "1.0"}))
    assert session.code("import husk_native; husk_native.__doc__").ok().value == "'compiled'"


def test_npm(begin):
    server = begin()
    created = create(server, language="node", dependencies={"is-number": "^7.0.0", "@sindresorhus/is": "7.0.1", "semver": "7.6.3"})
    session = session_of(server, created)
    assert created.dependencies == {"is-number": "7.0.0", "@sindresorhus/is": "7.0.1", "semver": "7.6.3"}
    assert session.code("require('is-number')(5)").ok().value == "true"
    assert session.code("(await import('@sindresorhus/is')).default.string('x')").ok().value == "true"
    script = "import is from '@sindresorhus/is'; console.log(is.string('x'))"
    assert session.shell(f'echo "{script}" >a.mjs; node a.mjs').ok().stdout == "true\n"
    assert session.shell("npx semver -i minor 1.2.3; npx --no semver 4.5.6").ok().stdout == "1.3.0\n4.5.6\n"
    bad = create(server, language="node", dependencies={"is-number": "99.0.0"})
    assert bad.is_error and "No matching version found for is-number@99.0.0" in bad.text


def test_r_from_a_repository_with_an_archive(begin, make_index):
    """The old version is compiled, the package that needs it accepts it, and packages of the image are not fetched."""
    login = "canary-user:cAnArY/passw0rd"
    index = make_index(login=login)
    package_index.add_r_package(index.folder, "huskold", "1.0", archived=True, files={
        "NAMESPACE": "useDynLib(huskold)\nexport(answer)\n",
        "R/answer.R": "answer <- function() .Call('husk_answer')\n",
        "src/answer.c": "#include <Rinternals.h>\nSEXP husk_answer(void) { return Rf_ScalarInteger(41); }\n"})
    package_index.add_r_package(index.folder, "huskold", "2.0", {"NAMESPACE": "export(answer)\n", "R/a.R": "answer <- function() 2L\n"})
    package_index.add_r_package(index.folder, "huskneeds", "1.2", {"NAMESPACE": "export(twice)\n",
                                "R/twice.R": "twice <- function() 2L * huskold::answer()\n"}, imports="huskold (>= 1.0)")
    server = begin(R_REPOS=index.url(login=login.replace("/", "%2F")))
    created = create(server, language="r", dependencies={"huskold": "1.0", "huskneeds": "", "jsonlite": ""})
    session = session_of(server, created)
    assert created.dependencies["huskold"] == "1.0" and created.dependencies["huskneeds"] == "1.2"
    assert "82" in session.code("huskneeds::twice()").ok().stdout + str(session.code("huskneeds::twice()").value)
    assert not index.downloads("jsonlite") and not index.downloads("huskold_2.0")
    shown = session.shell("Rscript -e 'getOption(\"repos\")'; env").stdout
    assert index.url() in shown and "cAnArY" not in shown
    bad = create(server, language="r", dependencies={"huskold": "1.5"})
    assert bad.is_error and "there is no 'huskold' 1.5; the current one is 2.0" in bad.text


# --- rejected requests


BAD = {
    "python": [("--index-url=http://x", ""), ("-r", ""), ("x @ http://h/x.whl", ""), ("./x", ""), ("a b", ""), ("", ""), ("a\nb", ""),
               ("six;os_name=='x'", ""), ("six[", ""), ("é", ""), ("six", "1.0 --pre"), ("six", "http://h"), ("six", "1.0;x"),
               ("six", ">=1 <2"), ("six", "latest"), ("six", "==1,\n2"), ("x" * 300, ""), ("six", "1" * 300)],
    "r": [("http://x", ""), ("a/b", ""), ("-x", ""), ("x", ""), ("ggplot2", ">=1"), ("ggplot2", "latest"), ("ggplot2", "1.0'); system('x")],
    "node": [("http://x", ""), ("../x", ""), ("-g", ""), ("@x", ""), ("x@1", ""), ("lodash", "git+ssh://x"), ("lodash", "file:x"),
             ("lodash", "npm:other@1"), ("lodash", "x.tgz"), ("lodash", "./x"), ("lodash", "1 --global")],
}


def languages():
    return [i["name"] for i in json.loads((harness.build_dir() / "images.json").read_text())]


# evidence: dependency-names
@pytest.mark.parametrize("language", languages())
def test_bad_names_and_versions_start_nothing(start, tmp_path, language):
    fake = harness.Fake(tmp_path / "bin")
    server = start(PATH=fake.path)
    for name, version in BAD[language]:
        result = server.call("create_session", {"language": language, "dependencies": {name: version}})
        assert result.is_error and result.fields["error"] == "INVALID_INPUT", (name, version)
        expected = f"Invalid package name: '{name[:214]}'" if not version else f"Invalid version of package '{name}'"
        assert expected in result.text, result.text
        assert "No URLs" in result.fields["hint"]
    for wrong in ({"six": 1}, {"six": ["1"]}, ["six"], "six"):
        assert server.call("create_session", {"dependencies": wrong}).is_error
    assert fake.calls() == []


# evidence: install-failures
def test_a_failed_install_is_a_failed_create(begin, index):
    server = begin(**index.pip())
    result = create(server, dependencies={"husk-demo": "7.7", "husk-other": ""})
    assert result.is_error
    assert "No matching distribution found for husk-demo==7.7" in result.text
    assert result.fields["error"].startswith("RuntimeError: the dependencies could not be installed")
    assert result.fields["active_sessions"] == []
    wait_until(lambda: not left(server), what="everything of it to go")
    for _ in range(2):  # a failed create holds no slot
        session_of(server, create(server, dependencies={"husk-demo": "1.0"}))


# evidence: install-failures
def test_a_set_that_is_too_large_is_rejected(begin, index):
    package_index.add_wheel(index.folder, "husk-large", "1.0", {"husk_large.bin": os.urandom(6 << 20)})
    server = begin(DEPENDENCY_MAX_SIZE="4m", **index.pip())
    result = create(server, dependencies={"husk-large": ""})
    assert result.is_error and "exceed their size limit" in result.text and "DEPENDENCY_MAX_SIZE" in result.fields["hint"]
    wait_until(lambda: not left(server), what="everything of it to go")


# evidence: install-failures
def test_timeout(begin, index):
    index.hold("husk_other")
    server = begin(DEPENDENCY_INSTALL_TIMEOUT_SECONDS=5, **index.pip())
    result = create(server, dependencies={"husk-other": ""})
    assert result.is_error and "not installed within 5 s" in result.text and "DEPENDENCY_INSTALL_TIMEOUT_SECONDS" in result.fields["hint"]
    wait_until(lambda: not left(server), what="everything of it to go")


# evidence: install-failures
def test_progress_and_cancel(begin, index):
    index.hold("husk_other")
    server = begin(**index.pip())
    answer = server.start_call("create_session", {"dependencies": {"husk-other": ""}}, progress="install")
    assert index.holding.wait(INSTALL)
    server.wait_for(lambda s: any("husk-other" in p.get("message", "") for p in s.progress_of("install")), what="the installer's words")
    assert server.ping() < 5  # the server is not held up
    server.cancel(answer)
    wait_until(lambda: not left(server), what="everything of it to go")
    index.release.set()
    assert not answer.done
    session_of(server, create(server, dependencies={"husk-other": ""}))


def test_a_build_ends_with_the_server(begin, index):
    index.hold("husk_other")
    server = begin(**index.pip())
    server.start_call("create_session", {"dependencies": {"husk-other": ""}})
    assert index.holding.wait(INSTALL)
    server.close_stdin()
    server.process.wait(harness.PATIENCE)
    wait_until(lambda: not server.containers(), what="the install container to go")


# --- secrets


# evidence: index-login
def test_a_password_is_never_visible(begin, make_index, tmp_path):
    user, password = "canary-user", "cAnArY%2Fpassw0rd"
    clear = "cAnArY/passw0rd"
    index = make_index(login=f"{user}:{clear}")
    package_index.add_wheel(index.folder, "husk-secret", "1.0")
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", index.folder / "simple" / "setuptools",
                    "setuptools==80.9.0"], check=True, stdin=subprocess.DEVNULL)
    package_index.add_tar(index.folder / "simple" / "husk-built" / "husk_built-1.0.tar.gz", "husk_built-1.0", {
        "PKG-INFO": "Metadata-Version: 2.1\nName: husk-built\nVersion: 1.0\n",
        "pyproject.toml": PYPROJECT,
        "setup.py": "from setuptools import setup\nsetup(name='husk-built', version='1.0', py_modules=['husk_built'])\n",
        "husk_built.py": "x = 1\n"})
    server = begin(HUSK_LOG="debug", **index.pip(login=f"{user}:{password}"))
    index.hold("setuptools")  # while a source is being built, pip has children
    answer = server.start_call("create_session", {"dependencies": {"husk-secret": "", "husk-built": ""}}, progress="p")
    assert index.holding.wait(INSTALL)
    needles = [n.encode() for n in (password, clear)]

    def contains(data):
        return any(n in data for n in needles)

    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            assert not contains(pathlib.Path("/proc", entry, "cmdline").read_bytes()), entry
        except OSError:
            continue
    for name in server.containers():
        assert not contains(docker("inspect", name).encode())
    index.release.set()
    created = answer.tool(INSTALL)
    session = session_of(server, created)
    failed = create(server, dependencies={"husk-missing": ""})
    assert failed.is_error
    image = docker("inspect", "--format", "{{.Config.Image}}", session.container)
    assert not contains(docker("inspect", session.container).encode() + docker("image", "inspect", image).encode())
    environment = session.shell("env; tr '\\0' '\\n' </proc/self/environ; grep -rsl cAnArY /opt/husk /home /tmp /workspace").stdout
    assert f"PIP_INDEX_URL={index.url('simple/')}" in environment and "cAnArY" not in environment
    assert not contains(session.code("import os; print(dict(os.environ))").ok().stdout.encode())
    saved = subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    rest = b""
    for block in iter(lambda: saved.stdout.read(1 << 20), b""):
        assert not contains(rest + block)
        rest = block[-100:]
    assert saved.wait() == 0
    saved.stdout.close()
    for path in server.home.rglob("*"):  # store and log
        assert not path.is_file() or not contains(path.read_bytes()), path
    assert not any(contains(line) for line, _, _ in server.lines)
