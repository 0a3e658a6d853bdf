"""The MCP conformance suite over HTTP, in both eras."""

import json
import pathlib
import re
import subprocess

import conformance_suite
import pytest
from conformance_suite import HUSK

MODERN, LEGACY = "2026-07-28", "2025-11-25"
TOOLS = ["list", "call-simple-text", "call-image", "call-audio", "call-embedded-resource", "call-mixed-content", "call-error",
         "call-with-progress"]  # fmt: skip
RESOURCES = ["resources-list", "resources-read-text", "resources-read-binary", "resources-templates-read"]
TASKS = [f"tasks-{name}" for name in ("capability-negotiation", "lifecycle", "wire-fields", "request-state-removal", "mrtr-input", "mrtr-composition",
                                      "request-headers", "dispatch-and-envelope", "required-task-error")]  # fmt: skip
PROMPTS = [f"prompts-{name}" for name in ("list", "get-simple", "get-with-args", "get-embedded-resource", "get-with-image")]
INPUTS = [f"input-required-result-{name}" for name in ("basic-elicitation", "basic-list-roots", "request-state", "multi-round", "non-tool-request",
                                                       "missing-input-response", "result-type", "tampered-state", "validate-input",
                                                       "ignore-extra-params")]  # fmt: skip
REQUESTS = ["tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums", "tools-call-with-logging", "logging-set-level"]
BOTH = [*(f"tools-{name}" for name in TOOLS), *RESOURCES, *PROMPTS, "completion-complete", "json-schema-2020-12",
        "server-sse-multiple-streams", "dns-rebinding-protection"]  # fmt: skip
# All scenarios that apply to a server with tools, prompts and resources. The others are in expected-failures.yaml,
# with the reason.
APPLY = [
    *((MODERN, s) for s in ["server-stateless", *BOTH, "http-header-validation", "sep-2164-resource-not-found", *TASKS, *INPUTS]),
    *((LEGACY, s) for s in ["server-initialize", "ping", *BOTH, "resources-subscribe", "resources-unsubscribe", "server-session-lifecycle",
                            "server-sse-polling", *REQUESTS]),
]


@pytest.mark.parametrize(("era", "scenario"), APPLY)
def test_scenario(judge, era, scenario):
    checks = judge(era).scenarios[scenario]
    bad = [c for c in checks if c["status"] not in ("SUCCESS", "INFO", "SKIPPED")]
    assert not bad, json.dumps(bad, indent=1)[:3000]
    assert any(c["status"] == "SUCCESS" for c in checks)


def expected_failures():
    return {line[4:] for line in conformance_suite.EXPECTED.read_text().splitlines() if line.startswith("  - ")}


def failures(verdict):
    return {f"{name}:{c['id']}" for name, checks in verdict.scenarios.items() for c in checks if c["status"] in ("FAILURE", "WARNING")}


@pytest.mark.parametrize("era", [MODERN, LEGACY])
def test_the_suite_passes(judge, era):
    verdict = judge(era)
    assert verdict.status == 0, verdict.output[-4000:]


def test_exactly_what_is_expected_fails(judge):
    """The suite's own exit status ignores failures of scenarios that a revision does not require."""
    assert failures(judge(MODERN)) | failures(judge(LEGACY)) == expected_failures()


@pytest.mark.parametrize("era", [MODERN, LEGACY])
def test_every_message_fits_the_schema(judge, era):
    checks = [c for checks in judge(era).scenarios.values() for c in checks if c["id"].startswith("wire-schema")]
    assert len(checks) > 20
    assert [c for c in checks if c["status"] != "SUCCESS"] == []


def test_caching_hints_are_present(judge):
    checks = {c["id"]: c["status"] for c in judge(MODERN).scenarios["caching"]}
    lists = [f"{name}-list-caching-hints" for name in ("tools", "prompts", "resources", "resources-templates")]
    for name in (*lists, "ttl-non-negative", "cache-scope-valid"):
        assert checks[f"sep-2549-{name}"] == "SUCCESS"


def test_every_expected_failure_is_one_check_with_a_reason():
    reason = ""
    for line in conformance_suite.EXPECTED.read_text().splitlines():
        if line.startswith("  # "):
            reason += line
        elif line.startswith("  - "):
            assert re.fullmatch(r"  - [a-z0-9-]+:[a-z0-9-]+", line), line
            assert len(reason) > 40, f"no reason for {line}"
        elif not line:
            reason = ""


def ask(home, command):
    """Returns the program's answers to tools/list and to a call of a fixture."""
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "test_simple_text"}}
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, call]
    text = "".join(json.dumps(m) + "\n" for m in lines)
    env = conformance_suite.clean_env(home)
    done = subprocess.run(command, input=text, capture_output=True, text=True, env=env, timeout=30, check=True)
    listed, called = sorted(map(json.loads, done.stdout.splitlines()), key=lambda m: m["id"])
    return [tool["name"] for tool in listed["result"]["tools"]], called


def test_fixtures_exist_in_the_test_program_only(tmp_path):
    real, refused = ask(tmp_path, [HUSK, "mcp"])
    assert refused["error"]["code"] == -32602
    with_fixtures, answered = ask(tmp_path, [conformance_suite.program()])
    assert "result" in answered
    assert with_fixtures[: len(real)] == real
    assert len(with_fixtures) > len(real)
    assert b"test_simple_text" not in pathlib.Path(HUSK).read_bytes()
