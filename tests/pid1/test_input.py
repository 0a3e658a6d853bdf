"""Runs with prompts: cells through their kernel, commands at their own terminal."""

import frames


def start(client, command, **more):
    return client.start(frames.TERMINAL, command, interactive=True, **more)


# Cells -----------------------------------------------------------------------------------------------------------------


def test_a_prompt_of_a_cell_is_answered(client):
    number = client.start(frames.EXECUTE, "print('before')\nanswer = link.prompt('Name? ', 7)\nprint(answer['text'], answer['question'])",
                          interactive=True)
    prompt = client.wait_prompt(number)
    assert prompt == {"state": "waiting", "interactive": True, "inputs": 0, "prompt": "Name? "}
    *pieces, mark = client.take(number)
    assert [f.payload for f in pieces if f.type == frames.OUT] == [b"before\n"]
    assert mark.payload["state"] == "waiting" and mark.payload["prompt"] == "Name? "
    client.type(number, 1, "Bob\u00fc")
    reply = client.finish(number)
    assert reply.out == "Bob\u00fc 7\n".encode() and reply.ending == "ok"


def test_an_answer_is_delivered_once(box, client):
    code = "for i in range(2): print(link.prompt(f'{i}? ', i, password=bool(i))['text'], flush=True)"
    number = client.start(frames.EXECUTE, code, interactive=True)
    client.wait_prompt(number)
    client.type(number, 1, "one")
    client.type(number, 1, "twice")
    assert client.wait_prompt(number) == {"state": "waiting", "interactive": True, "inputs": 1, "password": True, "prompt": "1? "}
    client = box.attach(fence=2)
    call = client.expect(lambda f: f.call == number)
    assert call.type == frames.CALL and call.payload["state"] == "waiting" and call.payload["inputs"] == 1
    client.type(number, 1, "again")
    client.type(number, 2, "two")
    assert client.finish(number).out == b"one\ntwo\n"


def test_a_withdrawn_prompt_is_reported(client):
    code = ("link.send(op='input', id=link.id, question=1, prompt='old')\nlink.send(op='input', id=link.id, question=1, cancel=True)\n"
            "print(link.prompt('new', 2))")
    number = client.start(frames.EXECUTE, code, interactive=True)
    client.expect(lambda f: f.call == number and f.type == frames.PROMPT and f.payload["prompt"] == "new")
    client.type(number, 1, "x")
    assert b"'question': 2" in client.finish(number).out


def test_unexpected_prompts_and_answers_are_rejected(client):
    assert client.execute("link.prompt()").ending == "kernel_died"
    number = client.start(frames.EXECUTE, "link.send(op='input', id=link.id)\ntime.sleep(1000)", interactive=True)
    assert "malformed prompt" in client.finish(number).detail
    number = client.start(frames.EXECUTE, "time.sleep(0.2)")
    client.type(number, 1, "nobody waits")
    assert client.finish(number).ending == "ok"


def test_a_kernel_that_ends_during_a_prompt(client):
    number = client.start(frames.EXECUTE, "link.send(op='input', id=link.id, question=1)\nos.kill(os.getpid(), 9)", interactive=True)
    assert client.finish(number).ending == "kernel_died"
    number = client.start(frames.EXECUTE, "link.prompt()", interactive=True)
    client.wait_prompt(number)
    client.send(frames.INTERRUPT, number)
    reply = client.finish(number)
    assert reply.ending == "interrupted" and reply.end["kernel"] == "kept"
    assert client.execute("print(1)").out == b"1\n"


# Commands --------------------------------------------------------------------------------------------------------------


def test_an_interactive_command_has_a_terminal(client):
    number = start(client, "tty >/dev/null && stty size; read -p 'Name? ' name; echo \"hi $name\"; exit 3", rows=30, cols=100)
    assert client.wait_prompt(number)["state"] == "waiting"
    client.type(number, 1, "Bob\r")
    reply = client.finish(number)
    assert reply.out == b"30 100\r\nName? Bob\r\nhi Bob\r\n" and reply.err == b"" and reply.end["exit_code"] == 3


def test_a_password_prompt_is_recognised(client):
    number = start(client, "read -p 'User: ' u; read -s -p 'Password: ' p; echo; echo $u${#p}")
    assert "password" not in client.wait_prompt(number)
    client.type(number, 1, "me\r")
    assert client.wait_prompt(number)["password"] is True
    client.type(number, 2, "secret\r")
    reply = client.finish(number)
    assert reply.out.endswith(b"me6\r\n") and b"secret" not in reply.out


def test_prompts_are_found_in_poll_select_and_epoll(client):
    for wait in ("select.select([0], [], [])", "p = select.poll(); p.register(0, select.POLLIN); p.poll()",
                 "e = select.epoll(); e.register(0, select.EPOLLIN); e.poll()", "open('/dev/tty').readline(); sys.exit()"):
        number = start(client, f"python3 -S -c \"import select, sys; {wait}; print(sys.stdin.readline())\"")
        client.wait_prompt(number)
        client.type(number, 1, "x\r")
        assert client.finish(number).ending == "ok", wait


def test_working_or_otherwise_waiting_programs_have_no_prompt(client):
    number = start(client, "sleep 0.7; for i in 1 2 3; do echo $i; sleep 0.1; done; exec 3<>/tmp/f; read -t 0.2 x </dev/null; echo end")
    assert not [f for f in client.finish(number).frames if f.type == frames.PROMPT]


def test_control_characters_reach_the_program(client):
    number = start(client, "cat; echo over")
    client.wait_prompt(number)
    client.type(number, 1, "line\r")
    client.wait_prompt(number)
    client.type(number, 2, "\x04")
    assert client.finish(number).out == b"line\r\nline\r\nover\r\n"
    number = start(client, "trap 'echo caught; exit 0' INT; echo ready; while :; do sleep 0.05; done")
    client.expect(lambda f: f.call == number and f.type == frames.OUT)
    client.type(number, 1, "\x03")
    reply = client.finish(number)
    assert b"caught" in reply.out and reply.ending == "ok"


def test_an_interactive_command_leaves_the_queue_and_can_be_interrupted(client):
    number = start(client, "read x")
    client.wait_prompt(number)
    assert client.take(number, aside=True)[-1].payload["state"] == "waiting"
    assert client.terminal("echo beside").out == b"beside\n"
    client.send(frames.INTERRUPT, number)
    assert client.finish(number).ending == "interrupted"
    assert client.terminal("echo $TERM; tty").out == b"dumb\nnot a tty\n", "nothing of it is left"


def test_a_bad_input_ends_the_stream(box, client):
    for payload in (b"", b"[]", b'{"number":0,"text":""}', b'{"number":1}', b'{"number":1,"text":"' + b"x" * 65537 + b'"}'):
        client.send(frames.INPUT, 1, payload)
        client.wait_closed()
        client = box.attach()
