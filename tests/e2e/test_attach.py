"""Other programs of the user attach to a running server's sessions: what they share with the agent, and what they do
not.
"""

import base64
import http.client
import json
import os
import pathlib
import signal
import subprocess

import pytest
from attach_client import Attached, Refused, sockets
from harness import Session, clean_env, husk_binary, wait_until

PNG = "import base64\nfrom IPython.display import Image, display\ndisplay(Image(base64.b64decode('%s')))" % base64.b64encode(
    bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000"
                  "1f15c4890000000d49444154789c63f8cfc0f01f00050001ff56c72f0d0000000049454e44ae426082")).decode()


def attach(server):
    (path,) = sockets(server.home)
    return Attached(path)


def test_a_person_and_an_agent_share_a_session(start):
    server = start()
    assert not sockets(server.home), "nobody has a session yet"
    agent = server.session(network=False)
    agent.code("shared = [1, 2, 3]").ok()
    with attach(server) as person, attach(server) as second:
        assert person.call("GET", f"/v1/sessions/{agent.id}?brief=true")["language"] == "python"

        # One interpreter, live output, pictures in their place.
        run = person.start(agent.id, f"shared.append(4)\nprint('before')\n{PNG}\nprint('after')\nlen(shared)")
        result = run.result()
        assert result["ending"] == "ok" and run.live["stdout"] == "before\nafter\n"
        assert [part["kind"] for part in result["parts"]] == ["stdout", "display", "stdout", "result"]
        assert "image/png" in result["displays"][0]
        assert result["result"]["text/plain"] == "4"
        assert agent.code("shared").ok().value == "[1, 2, 3, 4]"

        # During a long cell of the person, commands of the agent and of others still run, and an interrupt is
        # reported to the person.
        long = person.start(agent.id, "import time\nprint('on', flush=True)\ntime.sleep(600)")
        long.wait_live("on\n")
        assert agent.shell("echo agent").ok().stdout == "agent\n"
        assert second.run(agent.id, "echo $WHO in $PWD", "command", env={"WHO": "second"}, cwd="/tmp")["stdout"] == "second in /tmp\n"
        assert [run["state"] for run in second.call("GET", f"/v1/sessions/{agent.id}")["runs"]] == ["running"]
        long.tell("interrupt")
        assert long.result()["ending"] == "interrupted"

        # The prompt of a person's run is theirs: only they can answer it.
        asked = person.start(agent.id, "name = input('who? ')\nname.upper()", interactive=True)
        assert asked.result()["prompt"] == "who? "
        with pytest.raises(Refused) as refused:
            second.call("POST", f"{asked.target}/{asked.number}/input", {"text": "mallory"})
        assert refused.value.fail["cause"] == "run_foreign"
        asked.tell("input", text="alice")
        assert asked.result()["result"]["text/plain"] == "'ALICE'"

        # A client that disconnects leaves nothing running, and the agent gets no report.
        left = second.start(agent.id, "print('on', flush=True)\ntime.sleep(600)")
        left.wait_live("on\n")
        person.start(agent.id, "1").close()
    # The call may come before the server has noticed the disconnect. Then the answer names the run that it waited
    # for.
    after = agent.code("'free'").ok()
    assert after.text.removesuffix(f"\n⟦note⟧ It had to wait for run {left.number}.") == "⟦result⟧ 'free'"

    # The log, which is written in batches, has all runs.
    def endings():
        command = [husk_binary(), "history", agent.id, "--json"]
        done = subprocess.run(command, env=clean_env(server.home), capture_output=True, text=True, timeout=60)
        return [run.get("ending") for run in json.loads(done.stdout)["runs"]]

    wait_until(lambda: endings().count("interrupted") == 1 and endings().count("cancelled") == 2, what="the log of all runs")


def test_all_operations_work_over_attach(start):
    server = start()
    agent = server.session(network=False)
    with attach(server) as person:
        made = person.call("POST", "/v1/sessions", {"language": "python", "env": {"GREETING": "hello"}})["id"]
        server.sessions.append(made)
        session = f"/v1/sessions/{made}"
        assert [s["id"] for s in person.call("GET", "/v1/sessions")["sessions"]] == [agent.id, made]
        copied = person.call("POST", f"{session}/imports", {"files": [{"content": "AAECAw==", "encoding": "base64", "destination": "/workspace/a.bin"}]})
        assert copied["success"] and copied["files"][0]["path"] == "/workspace/a.bin" and copied["files"][0]["size"] == 4
        copied = person.call("POST", f"{session}/exports", {"files": [{"path": "/workspace/a.bin"}, {"path": "/workspace/b.bin"}]})["files"]
        assert copied[1]["problem"]["detail"] and pathlib.Path(copied[0]["export"]["host_path"]).read_bytes() == bytes(range(4))
        restarted = person.run(made, "import os\nos.environ['GREETING']", restart=True)
        assert restarted["result"]["text/plain"] == "'hello'" and restarted["kernel_restarted"]
        # Larger than a remote client may send.
        large = person.run(made, f"len({'x' * 5_000_000!r})")
        assert large["result"]["text/plain"] == "5000000"
        assert person.call("DELETE", session) == b""
        for method, target, body in (("POST", f"{session}/runs", {"text": "1"}), ("GET", session, None)):
            with pytest.raises(Refused) as refused:
                person.call(method, target, body)
            assert refused.value.fail["cause"] == "no_session"


def test_killed_and_closed_servers_are_reported(start, tmp_path):
    home = tmp_path / "home"
    first = start(home=home)
    agent = first.session(network=False)
    agent.code("kept = 1").ok()
    with attach(first) as person:
        run = person.start(agent.id, "import time\ntime.sleep(600)")
        os.kill(first.process.pid, signal.SIGKILL)
        with pytest.raises((EOFError, ConnectionError, http.client.HTTPException)):
            run.result()
    first.process.wait(20)
    stale = sockets(home)
    assert len(stale) == 1

    second = start(home=home)
    assert Session(second, agent.id).shell("true").ok()
    with attach(second) as person:
        assert person.call("GET", f"/v1/sessions/{agent.id}?brief=true")["id"] == agent.id
        assert sockets(home) != stale, "what a killed server leaves is swept"
        (path,) = sockets(home)
        assert path.stat().st_mode & 0o7777 == 0o600 and path.parent.stat().st_mode & 0o7777 == 0o700
    second.close_stdin()
    second.process.wait(20)
    wait_until(lambda: not sockets(home), what="the end of the socket")

    third = start(home=home, HUSK_ATTACH="off")
    assert Session(third, agent.id).shell("true").ok()
    assert not sockets(home)
