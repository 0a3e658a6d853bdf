"""The description at /v1/openapi.json, compared with the answers of the server: tests/e2e/long has the full version."""

import re

import api_description
import pytest

# Some of these take seconds, or are answered by a server in the session. The others remove the session and the key that all
# requests use.
SLOW = "addPackages|usePort|runDoctor|restartInterpreter|createSession|stopSession|removeKey"


@pytest.fixture(name="session", scope="module")
def fixture_session(serving):
    session = serving.create()
    serving.run(session, "1 + 1")
    yield session
    serving.call("DELETE", f"/v1/sessions/{session}").ok()


def test_answers_match_the_description(serving, session, tmp_path):
    report = api_description.run(serving, tmp_path, "--phases", "coverage,fuzzing", "--max-examples", "2", "--max-time", "15", "--seed", "1",
                                 "--exclude-operation-id-regex", SLOW, session=session, patience=120)
    tested = int(re.search(r"Tested: (\d+)", report).group(1))
    # How many depends on the machine: it was 12 of more than 50 on a busy one. `make test-long PARTS=http` tries all.
    assert tested > 5, report


def test_unknown_sessions_match_the_description(serving, tmp_path):
    api_description.run(serving, tmp_path, "--phases", "fuzzing", "--max-examples", "1", "--max-time", "5", "--seed", "2",
                        "--exclude-operation-id-regex", SLOW, patience=120)
