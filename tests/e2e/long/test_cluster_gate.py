"""The gate and secrets in pods: tests of test_gate.py and test_secrets.py, in a real cluster."""

# ruff: noqa: F401
from test_gate import server, session, test_programs_work_unchanged, test_raw_sockets_and_resets
from test_secrets import authority, begin, host, python, shared, test_curl_and_git, test_the_value_is_nowhere, url
