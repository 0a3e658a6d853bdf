"""Runs schemathesis, which makes requests from the description of the API and compares the answers with it."""

import pathlib
import subprocess
import sys

import harness

# Decoding is lenient on purpose ("30" for 30, null for the default), and some rules concern two fields. Schemathesis
# takes both for mistakes.
NOT_CHECKED = ("negative_data_rejection", "positive_data_acceptance")
CONFIG = """
[parameters]
"path.session" = "{session}"
"path.run" = {run}
"query.wait" = 0

[phases.coverage]
unexpected-methods = ["DELETE", "PATCH", "POST", "PUT"]
"""


def run(serving, folder, *options, session=None, run=1, patience=harness.PATIENCE):
    """Ends with an assertion that shows the report if an answer does not match. With a session, its id and the number
    of one of its runs are in all paths.
    """
    config = folder / "schemathesis.toml"
    text = CONFIG.format(session=session, run=run)
    config.write_text(text if session else "\n".join(line for line in text.splitlines() if not line.startswith('"path.')))
    program = pathlib.Path(sys.executable).parent / "st"
    done = subprocess.run([str(program), "--config-file", str(config), "run", f"{serving.origin}/v1/openapi.json", "--no-color",
                           "-H", f"Authorization: Bearer {serving.key}", "--exclude-checks", ",".join(NOT_CHECKED), "--warnings", "off",
                           "--request-timeout", "30", "--continue-on-failure", *options],
                          cwd=folder, capture_output=True, text=True, timeout=patience)
    assert done.returncode == 0, done.stdout + done.stderr
    assert serving.process.poll() is None
    return done.stdout
