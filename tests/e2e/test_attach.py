"""Other programs of the user attach to a running server's sessions: what they share with the agent, and what they do
not.
"""

import base64
import json
import os
import signal
import subprocess

import pytest
from attach_client import BYTES, CANCEL, INTERRUPT, Attached, Refused, sockets
from harness import Session, clean_env, husk_binary, wait_until

PNG = "import base64\nfrom IPython.display import Image, display\ndisplay(Image(base64.b64decode('%s')))" % base64.b64encode(
    bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000"
                  "1f15c4890000000d49444154789c63f8cfc0f01f00050001ff56c72f0d0000000049454e44ae426082")).decode()


def attach(server, session=None):
    (path,) = sockets(server.home)
    return Attached(path, session)


def test_a_person_and_an_agent_share_a_session(start):
    server = start()
    assert not sockets(server.home), "nobody has a session yet"
    agent = server.session(network=False)
    agent.code("shared = [1, 2, 3]").ok()
    with attach(server, agent.id) as person, attach(server) as second:
        assert person.hello["version"] == 1 and person.hello["pid"] == server.process.pid
        assert person.hello["session"]["runtime"] == "python" and "session" not in second.hello

        # One interpreter, live output, pictures in their place.
        number = person.start("run", kind="code", session=agent.id, text=f"shared.append(4)\nprint('before')\n{PNG}\nprint('after')\nlen(shared)",
                              live=True)
        result = person.answer(number)
        assert result["ending"] == "ok" and person.live[number][BYTES] == b"before\nafter\n"
        assert [part["kind"] for part in result["parts"]] == ["stdout", "display", "stdout", "result"]
        assert "image/png" in {part["type"] for part in result["displays"][0]}
        assert {"type": "text/plain", "data": "4"} in result["result"]
        assert agent.code("shared").ok().value == "[1, 2, 3, 4]"

        # During a long cell of the person, commands of the agent and of others still run, and an interrupt is
        # reported to the person.
        long = person.start("run", kind="code", session=agent.id, text="import time\nprint('on', flush=True)\ntime.sleep(600)", live=True)
        person.wait_live(long, b"on\n")
        assert agent.shell("echo agent").ok().stdout == "agent\n"
        assert second.run(agent.id, "echo $WHO in $PWD", "terminal", env={"WHO": "second"}, cwd="/tmp")["stdout"] == "second in /tmp\n"
        assert [run["state"] for run in second.call("info", session=agent.id)["runs"]] == ["running"]
        person.send(INTERRUPT, long)
        assert person.answer(long)["ending"] == "interrupted"

        # The prompt of a person's run is theirs: only they can answer it.
        asked = person.run(agent.id, "name = input('who? ')\nname.upper()", interactive=True, wait=60)
        assert asked["ending"] == "waiting" and asked["prompt"] == "who? "
        with pytest.raises(Refused) as refused:
            second.call("run", kind="code", session=agent.id, run=asked["run"], input="mallory")
        assert refused.value.fail["cause"] == "run_foreign"
        told = person.call("run", kind="code", session=agent.id, run=asked["run"], input="alice")
        assert {"type": "text/plain", "data": "'ALICE'"} in told["result"]

        # A client that disconnects leaves nothing running, and the agent gets no report.
        left = second.start("run", kind="code", session=agent.id, text="print('on', flush=True)\ntime.sleep(600)", live=True)
        second.wait_live(left, b"on\n")
        cancelled = person.start("run", kind="code", session=agent.id, text="1")
        person.send(CANCEL, cancelled)
    # The call may come before the server has noticed the disconnect. Then the answer names the run that it waited
    # for.
    after = agent.code("'free'").ok()
    assert after.text.removesuffix(f"\n⟦note⟧ It had to wait for run {told['run'] + 1}.") == "⟦result⟧ 'free'"

    # The log, which is written in batches, has all runs.
    def endings():
        command = [husk_binary(), "history", agent.id, "--json"]
        done = subprocess.run(command, env=clean_env(server.home), capture_output=True, text=True, timeout=60)
        return [run["ending"] for run in json.loads(done.stdout)["executions"]]

    wait_until(lambda: endings().count("interrupted") == 1 and endings().count("cancelled") == 2, what="the log of all runs")


def test_all_operations_work_over_attach(start):
    server = start()
    agent = server.session(network=False)
    with attach(server) as person:
        made = person.call("create", runtime="python", env={"GREETING": "hello"})["session"]["id"]
        server.sessions.append(made)
        assert [s["id"] for s in person.call("list")] == [agent.id, made]
        copied = person.call("copy", session=made, imports=[{"content": "AAECAw==", "base64": True, "destination": "/workspace/a.bin"}])
        assert copied[0]["path"] == "/workspace/a.bin" and copied[0]["size"] == 4 and "fail" not in copied[0]
        copied = person.call("copy", session=made, exports=["/workspace/a.bin", "/workspace/b.bin"])
        assert copied[1]["fail"]["message"]
        number = person.start("read_export", id=copied[0]["export"]["id"], max=100)
        assert person.answer(number)["has_data"] and person.live[number][BYTES] == bytes(range(4))
        assert [e["name"] for e in person.call("exports", limit=10)] == ["a.bin"]
        restarted = person.run(made, "import os\nos.environ['GREETING']", restart=True)
        assert {"type": "text/plain", "data": "'hello'"} in restarted["result"] and restarted["kernel_restarted"]
        # More than one frame, in and out.
        large = person.run(made, f"len({'x' * 300_000!r})")
        assert {"type": "text/plain", "data": "300000"} in large["result"]
        assert person.call("stop", session=made) == {}
        for op, fields, cause in (("run", {"kind": "code", "text": "1"}, "no_session"), ("info", {}, "no_session"), ("dance", {}, None)):
            with pytest.raises(Refused) as refused:
                person.call(op, session=made, **fields)
            assert refused.value.fail.get("cause") == cause


def test_killed_and_closed_servers_are_reported(start, tmp_path):
    home = tmp_path / "home"
    first = start(home=home)
    agent = first.session(network=False)
    agent.code("kept = 1").ok()
    person = attach(first)
    person.start("run", kind="code", session=agent.id, text="import time\ntime.sleep(600)")
    os.kill(first.process.pid, signal.SIGKILL)
    with pytest.raises((EOFError, ConnectionResetError)):
        person.read()
    first.process.wait(20)
    stale = sockets(home)
    assert len(stale) == 1

    second = start(home=home)
    assert Session(second, agent.id).shell("true").ok()
    with attach(second, agent.id) as person:
        assert person.hello["session"]["id"] == agent.id
        assert sockets(home) != stale, "what a killed server leaves is swept"
        (path,) = sockets(home)
        assert path.stat().st_mode & 0o7777 == 0o600 and path.parent.stat().st_mode & 0o7777 == 0o700
    second.close_stdin()
    second.process.wait(20)
    wait_until(lambda: not sockets(home), what="the end of the socket")

    third = start(home=home, HUSK_ATTACH="off")
    assert Session(third, agent.id).shell("true").ok()
    assert not sockets(home)
