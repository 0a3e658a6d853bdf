"""Runs that outlive their request: their output so far is delivered once, and commands can leave the queue."""

import frames
import pytest


def output(pieces):
    return b"".join(f.payload for f in pieces if f.type in (frames.OUT, frames.OUT_TAIL))


def begin(client, box, name="go"):
    """A cell that prints, waits for a file, and prints again."""
    number = client.start(frames.EXECUTE, f"print('one', flush=True)\nwhile not os.path.exists('/workspace/{name}'): time.sleep(0.01)\n"
                                          "print('two')")
    client.expect(lambda f: f.call == number and f.type == frames.OUT)
    return number


def test_a_mark_follows_all_earlier_output(box, client):
    number = begin(client, box)
    [mark] = client.take(number)
    assert mark.payload["mark"] == 1 and mark.payload["state"] == "running" and mark.payload["stdout_bytes"] == 4
    box.write_file("go")
    reply = client.finish(number)
    assert reply.out == b"two\n" and reply.end["stdout_bytes"] == 4


@pytest.mark.each_stream
def test_delivered_output_is_not_replayed(box, client):
    number = begin(client, box)
    client.take(number)
    second = box.attach(fence=2)
    call = second.expect(lambda f: f.call == number)
    assert call.payload == {"kind": "execute", "state": "running", "told": 0}
    assert second.expect(lambda f: f.call == number).payload == b"one\n", "nobody has said that it was told"
    assert second.expect(lambda f: f.call == number).type == frames.MARK
    second.send(frames.ACK, number, {"mark": 1})
    second.terminal("true")
    third = box.attach(fence=3)
    assert third.expect(lambda f: f.call == number).payload["told"] == 1
    box.write_file("go")
    assert third.finish(number).out == b"two\n"


def test_each_piece_has_its_own_limit(box, client):
    command = "for i in 1 2 3; do until [ -e go$i ]; do sleep 0.01; done; head -c 3000 /dev/zero | tr '\\0' $i; echo; touch done$i; done"
    number = client.start(frames.TERMINAL, command, limit=2000)
    for i in "123":
        box.write_file(f"go{i}")
        client.execute(f"while not os.path.exists('/workspace/done{i}'): time.sleep(0.01)")
        if i != "3":
            pieces = client.take(number)
            assert len(output(pieces)) == 2000 and set(output(pieces)) == set(i.encode() + b"\n")
            assert pieces[-1].payload["stdout_bytes"] == 3001
            client.send(frames.ACK, number, {"mark": int(i)})
    reply = client.finish(number)
    assert reply.end["stdout_bytes"] == 3001 and set(reply.out) == {ord("3")}


def test_a_queued_run_names_the_run_before_it(client):
    first = client.start(frames.EXECUTE, "time.sleep(1000)")
    second = client.start(frames.EXECUTE, "print('ran')")
    [mark] = client.take(second)
    assert mark.payload["state"] == "queued" and mark.payload["behind"] == first
    client.send(frames.INTERRUPT, first)
    client.finish(first)
    assert client.finish(second).end["behind"] == first


def test_commands_set_aside_leave_the_queue(box, client):
    aside = [client.start(frames.TERMINAL, f"export A={i}; cd /tmp; until [ -e /workspace/go{i} ]; do sleep 0.01; done; echo {i}")
             for i in range(9)]
    for number in aside:
        assert client.take(number, aside=True)[-1].payload["beside"] is (number != aside[8])
    last = client.start(frames.TERMINAL, "echo ${A-none}; pwd")
    assert client.take(last)[-1].payload["behind"] == aside[8], "eight at most"
    box.write_file("go3")
    assert client.finish(aside[3]).out == b"3\n"
    reply = client.finish(last)
    assert reply.out == b"none\n/workspace\n", "what runs beside the queue hands nothing on"
    for i in (0, 1, 2, 4, 5, 6, 7, 8):
        box.write_file(f"go{i}")
        assert client.finish(aside[i]).out == b"%d\n" % i
    assert client.terminal("pwd").out == b"/workspace\n"


def test_commands_beside_each_other_end_one_by_one(client):
    numbers = [client.start(frames.TERMINAL, "sleep 1000") for _ in range(3)]
    for number in numbers:
        client.take(number, aside=True)
    client.send(frames.INTERRUPT, numbers[1])
    assert client.finish(numbers[1]).ending == "interrupted"
    for number in (numbers[0], numbers[2]):
        assert client.take(number)[-1].type == frames.MARK
        client.send(frames.INTERRUPT, number)
        client.finish(number)


def test_an_end_comes_instead_of_a_mark(client):
    number = client.start(frames.EXECUTE, "print('done')")
    client.finish(number, ack=False)
    client.send(frames.TAKE, number, {})
    client.send(frames.ACK, number, {"mark": 1})
    client.send(frames.ACK, number)
    assert client.execute("print(1)").out == b"1\n"


def test_a_malformed_take_ends_the_stream(box, client):
    for payload in (b"", b"[]", b"{"):
        client.send(frames.TAKE, 1, payload)
        client.wait_closed()
        client = box.attach()
    client.send(frames.ACK, 1, {"mark": 0})
    client.wait_closed()
