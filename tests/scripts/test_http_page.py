"""Runs the examples of docs/http.md, which `make pages` writes from the table of routes, against a real server."""

import contextlib
import json
import os
import re
import subprocess

import pytest
from conftest import ROOT
from pages import blocks
from serving import Serving

REASON = "not run: it needs a server and a key"
TEXT = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
# Routes whose example would need more than a line of curl: another protocol, a program in the session, or a prompt to
# answer.
WITHOUT = {"GET /v1/sessions/{session}/ports/{port}/{path...}", "POST /v1/sessions/{session}/runs/{run}/input",
           "GET /v1/sessions/{session}/runs/{run}/outputs/{output}", "GET /v1/sessions/{session}/terminal",
           "POST /v1/sessions/{session}/ports"}
# Downloads a package. tests/e2e/test_later_installs.py runs it with an index of its own.
ELSEWHERE = {"POST /v1/sessions/{session}/packages"}
VARIABLE = re.compile(r"\$([A-Z]+)")


def examples():
    """(route, command) of each example, in the order of the page. Those that delete something come at the end, and the
    session last.
    """
    found = []
    for part in TEXT.split("\n#### `")[1:]:
        route = part.split("`")[0]
        found += [(route, code) for _, _, rest, code in blocks(part) if rest == REASON]
    return sorted(found, key=lambda one: (one[0].startswith("DELETE"), one[0] == "DELETE /v1/sessions/{session}", one[0] == "DELETE /threads/{thread}"))


@pytest.fixture(name="place", scope="module")
def fixture_place(tmp_path_factory):
    """A server, and what the variables of the examples stand for."""
    one = Serving(tmp_path_factory.mktemp("http-page"), HISTORY_KEEPS_CODE="true")
    try:
        session = one.create()
        one.run(session, "1 + 1")
        files = [{"content": "a,b\n1,2\n", "destination": "data.csv"}]
        one.call("POST", f"/v1/sessions/{session}/imports", {"files": files}).ok()
        made = one.call("POST", f"/v1/sessions/{session}/exports", {"files": [{"path": "data.csv"}]}).ok().json
        thread = json.loads((one.home / "state" / "husk" / "mcp-thread.json").read_text())["thread_id"]
        yield one, {"HUSK": one.origin, "KEY": f"Authorization: Bearer {one.key}", "SESSION": session, "RUN": "1",
                    "EXPORT": made["files"][0]["export"]["id"], "THREAD": thread}
    finally:
        one.stop()


def endless_run(one, session):
    """The number of a run that works until it is interrupted."""
    with contextlib.closing(one.events(f"/v1/sessions/{session}/events?after=now")) as events:
        one.call("POST", f"/v1/sessions/{session}/runs", {"text": "print('on', flush=True)\nwhile True: pass"}).ok()
        return str(events.wait("run.output")["run"])


def wait_for_end(one, session, run):
    with contextlib.closing(one.events(f"/v1/sessions/{session}/runs/{run}")) as events:
        events.wait("run.ended")


def test_the_examples_run(place, tmp_path):
    one, variables = place
    for route, code in examples():
        if route in ELSEWHERE:
            continue
        interrupts = route.endswith("/interrupt")
        if interrupts:
            variables["RUN"] = endless_run(one, variables["SESSION"])
        assert set(VARIABLE.findall(code)) <= set(variables), code
        done = subprocess.run(["bash", "-euc", code.replace("curl ", "curl -sS --fail-with-body --max-time 60 ", 1)],
                              env={"PATH": os.environ["PATH"], **variables}, cwd=tmp_path, capture_output=True, text=True, timeout=90, check=False)
        assert done.returncode == 0, f"{route}\n{code}{done.stdout}{done.stderr}"
        assert '"success":false' not in done.stdout, done.stdout
        if interrupts:
            wait_for_end(one, variables["SESSION"], variables["RUN"])
    assert (tmp_path / "data.csv").read_text() == "a,b\n1,2\n"


def test_routes_of_sessions_and_exports_have_an_example():
    have = {route for route, _ in examples()}
    routes = set(re.findall(r"^#### `(.*)`$", TEXT, re.M))
    own = {route for route in routes if route.split()[1].startswith(("/v1/sessions", "/v1/exports", "/threads"))}
    assert own - have == WITHOUT
