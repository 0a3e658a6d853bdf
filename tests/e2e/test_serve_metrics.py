"""Counters of a real server."""

import re


def metrics(one):
    text = one.call("GET", "/metrics").ok().body.decode()
    return dict(re.fullmatch(r"(\S+) (\S+)", line).groups() for line in text.splitlines() if not line.startswith("#"))


def test_runs_sessions_and_bytes_are_counted(serve):
    one = serve()
    session = one.create()
    one.run(session, "print('x' * 1000)")
    one.run(session, "1 / 0")
    one.run(session, "true", kind="command")
    one.call("POST", f"/v1/sessions/{session}/imports", {"files": [{"content": "12345", "destination": "a"}]}).ok()
    one.call("POST", f"/v1/sessions/{session}/exports", {"files": [{"path": "a"}]}).ok()
    now = metrics(one)
    assert now['husk_runs_total{language="python",kind="cell",ending="ok"}'] == "1"
    assert now['husk_runs_total{language="python",kind="cell",ending="error"}'] == "1"
    assert now['husk_runs_total{language="python",kind="command",ending="ok"}'] == "1"
    assert now['husk_create_seconds_count{how="cold"}'] == "1"
    assert now['husk_sessions{state="idle"}'] == "1"
    assert int(now['husk_bytes_total{of="output"}']) >= 1001
    assert (now['husk_bytes_total{of="imports"}'], now['husk_bytes_total{of="exports"}']) == ("5", "5")
    one.call("DELETE", f"/v1/sessions/{session}").ok()
    assert metrics(one)['husk_sessions_ended_total{cause="stopped"}'] == "1"
    assert session not in one.call("GET", "/metrics").body.decode()
    local = one.husk("ps", "--metrics").stdout
    assert 'husk_sessions_ended_total{cause="stopped"} 1\n' in local and "husk_build_info{" in local
