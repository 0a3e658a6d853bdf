"""The command line: help, version, exit codes, and which stream a message goes to."""

import re
import subprocess

import pytest
from harness import ROOT, build_dir, clean_env, husk_binary


def run(tmp_path, *args, program=None, **settings):
    return subprocess.run([program or husk_binary(), *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=clean_env(tmp_path, **settings), timeout=20)


def verbs(tmp_path):
    """The verbs that `husk --help` lists."""
    lines = run(tmp_path, "--help").stdout.split("\nOptions:\n")[0].splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")]


@pytest.mark.parametrize("args", [("--help",), ("-h",), ("help",)])
def test_help_lists_the_verbs_in_groups(tmp_path, args):
    done = run(tmp_path, *args)
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("usage: husk VERB", "\nRun code in a session:\n  run  ", "\nOptions:\n", "--env-file FILE", "--version"):
        assert word in done.stdout
    assert all(len(line) < 80 for line in done.stdout.splitlines())
    assert "--probe" not in done.stdout


def test_help_of_a_verb_is_about_that_verb(tmp_path):
    assert len(verbs(tmp_path)) >= 15
    for verb in verbs(tmp_path):
        done = run(tmp_path, verb, "--help")
        assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(f"usage: husk {verb} ")
        assert all(len(line) < 80 for line in done.stdout.splitlines()), verb
        assert all(f"\n{part}:\n" in done.stdout for part in ("Options", "Examples", "Exit codes")), verb
        assert done.stdout == run(tmp_path, "help", verb).stdout
    assert "--probe" in run(tmp_path, "doctor", "--help").stdout and "--probe" not in run(tmp_path, "run", "--help").stdout


@pytest.mark.parametrize("args, words", [
    (("docter",), "unknown verb 'docter': did you mean 'doctor'?"),
    (("help", "docter"), "unknown verb 'docter': did you mean 'doctor'?"),
    (("doctor", "--porbe"), "unknown option '--porbe': did you mean '--probe'?"),
    (("ps", "--probe"), "ps has no option '--probe': it is for doctor"),
])
def test_the_nearest_name_is_suggested(tmp_path, args, words):
    done = run(tmp_path, *args)
    assert (done.returncode, done.stdout) == (64, "") and words in done.stderr and "usage: husk" in done.stderr


def test_version(tmp_path):
    done = run(tmp_path, "--version")
    assert (done.returncode, done.stderr) == (0, "")
    wanted = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text()).group(1)
    assert done.stdout == f"husk {wanted}\n"


def test_the_server_reports_the_same_version(tmp_path, shared_server):
    info = shared_server.request("server/discover").result()["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert run(tmp_path, "--version").stdout == f"husk {info['version']}\n"


@pytest.mark.parametrize("args, words", [
    ((), "verb"),
    (("nonsense",), "nonsense"),
    (("--nonsense",), "nonsense"),
    (("mcp", "extra"), "extra"),
    (("mcp", "--env-file"), "env-file"),
    (("mcp", "--env-file", "/nonexistent/file"), "/nonexistent/file"),
])
def test_wrong_usage(tmp_path, args, words):
    done = run(tmp_path, *args)
    assert done.returncode == 64
    assert done.stdout == ""  # stdout is reserved for the protocol
    assert words in done.stderr
    assert len(done.stderr) < 2000


def test_a_bad_setting_is_wrong_usage(tmp_path):
    done = run(tmp_path, "mcp", CONTAINER_PIDS_LIMIT="x")
    assert (done.returncode, done.stdout) == (64, "")
    assert "CONTAINER_PIDS_LIMIT" in done.stderr


def test_the_client_program(tmp_path):
    """husk-client is for the inside of containers; outside it says so instead of acting as PID 1."""
    program = str(build_dir() / "husk-client")
    for args in (("--help",), ("--version",)):
        done = run(tmp_path, *args, program=program)
        assert done.returncode == 0 and "husk-client" in done.stdout
    for args in ((), ("nonsense",)):
        done = run(tmp_path, *args, program=program)
        assert done.returncode == 100 and done.stderr
    done = run(tmp_path, "init", program=program)
    assert done.returncode != 0 and done.stderr
    done = run(tmp_path, "attach", program=program)
    assert done.returncode != 0 and done.stderr


def test_the_client_program_is_static():
    """A static program runs in any Linux image."""
    done = subprocess.run(["readelf", "--program-headers", str(build_dir() / "husk-client")], capture_output=True, text=True)
    assert done.returncode == 0 and "INTERP" not in done.stdout
