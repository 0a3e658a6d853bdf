"""The benchmark notices failures: a broken call ends it, and a budget without a figure is missed."""

import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

import harness

BENCH = harness.ROOT / "bench"
sys.path.append(str(BENCH))

import budgets  # noqa: E402
import husk as bench_husk  # noqa: E402
import report  # noqa: E402
from results import Failed  # noqa: E402

# A proxy between the benchmark and husk that changes one argument of the calls of one tool.
BREAK = """#!{python}
import json, subprocess, sys
child = subprocess.Popen([{husk!r}, *sys.argv[1:]], stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    message = json.loads(line)
    if message.get("params", {{}}).get("name") == {tool!r}:
        message["params"]["arguments"].update({changes!r})
    child.stdin.write(json.dumps(message).encode() + b"\\n")
    child.stdin.flush()
child.stdin.close()
sys.exit(child.wait())
"""


@pytest.fixture(name="server", scope="module")
def fixture_server(tmp_path_factory):
    with bench_husk.Server(harness.husk_binary(), tmp_path_factory.mktemp("bench")) as server:
        yield server


@pytest.fixture(name="session", scope="module")
def fixture_session(server):
    return server.session(language="python", network=False)


@pytest.mark.parametrize("tool, arguments", [
    ("execute_code", {"session_id": "no-such-session", "code": "1+1"}),
    ("execute_code", {"code": "1/0"}),
    ("execute_terminal", {"command": "false"}),
    ("import_files", {"files": [{"source": "/no/such/file", "destination": "a"}]}),
    ("export_files", {"files": [{"source": "no-such-file"}]}),
], ids=lambda value: value if isinstance(value, str) else next(iter(value)))
def test_failed_call_raises(server, session, tool, arguments):
    with pytest.raises(Failed):
        server.timed(tool, **{"session_id": session, **arguments})


def test_unexpected_value_raises(server, session):
    assert server.timed("execute_code", lambda result: bench_husk.text_of(result).endswith("2"), session_id=session, code="1+1") > 0
    with pytest.raises(Failed):
        server.timed("execute_code", lambda result: bench_husk.text_of(result).endswith("3"), session_id=session, code="1+1")


@pytest.mark.parametrize("part, tool, changes", [
    ("growth", "execute_code", {"session_id": "no-such-session"}),
    ("files", "import_files", {"files": [{"source": "/no/such/file", "destination": "large"}]}),
    ("files", "export_files", {"files": [{"source": "no-such-file"}]}),
], ids=["session", "import", "export"])
def test_broken_call_ends_the_benchmark(tmp_path, part, tool, changes):
    program = tmp_path / "husk"
    program.write_text(BREAK.format(python=sys.executable, husk=harness.husk_binary(), tool=tool, changes=changes))
    program.chmod(0o755)
    done = subprocess.run([str(BENCH / "run"), "--quick", "--husk", str(program), part], capture_output=True, text=True,
                          timeout=2 * harness.PATIENCE)
    assert done.returncode == 1
    assert f"bench: {tool} failed" in done.stderr


def test_files_over_http_are_measured():
    done = subprocess.run([str(BENCH / "run"), "--quick", "http-files"], capture_output=True, text=True, timeout=2 * harness.PATIENCE)
    assert "100 MB out over HTTP, MB/s:" in done.stdout, done.stderr
    found = json.loads((harness.build_dir() / "bench.json").read_text())
    for way in ("in", "out"):
        assert found["measures"][f"HTTP: 100 MB {way}"]["values"]["rest"]["n"] >= 3
        assert f"| HTTP: 100 MB {way}, MB/s | Husk, REST |" in report.page(found)


def test_budget_without_a_figure_is_missed():
    held = budgets.hold({}, ["start"], quick=True)
    assert [(budget["found"], budget["kept"]) for budget in held] == [(None, False)]


@pytest.mark.parametrize("ms, status", [(3.9, 0), (4.1, 1), (None, 1)], ids=["kept", "missed", "not measured"])
def test_exit_status_says_whether_each_budget_was_kept(monkeypatch, tmp_path, capsys, ms, status):
    loader = importlib.machinery.SourceFileLoader("bench_run", str(BENCH / "run"))
    run = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_run", loader))
    loader.exec_module(run)

    def measure(_options, _folder, results):
        for value in [] if ms is None else [ms]:
            results.add("server: start to first answer", "husk", value)

    monkeypatch.setattr(run, "measure", measure)
    monkeypatch.setattr(run, "BUILD", tmp_path)
    monkeypatch.setattr(sys, "argv", ["run", "start"])
    assert run.main() == status
    assert ("MISSED" in capsys.readouterr().out) is bool(status)


def test_every_budget_names_a_part_of_the_benchmark():
    parts = (pathlib.Path(BENCH) / "parts.py").read_text()
    assert all(f'"{budget.part}": ' in parts for budget in budgets.BUDGETS)


@pytest.mark.parametrize("ms, listed", [(129, False), (131, True)])
def test_create_is_compared_with_docker_run_and_the_kernels_start(ms, listed):
    measures = {"r: create, network": {"unit": "ms", "values": {"husk": {"p50": ms}, "docker": {"p50": 100}}},
                "r: the kernel's own start": {"unit": "ms", "values": {"kernel": {"p50": 30}}}}
    assert any("docker run and the kernel's start | 130.0" in line for line in report.ahead({"measures": measures})) is listed
