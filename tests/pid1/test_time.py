"""Behaviour over time. The scenarios run side by side, each in its own box, since each needs to wait."""
import concurrent.futures
import itertools
import os
import signal
import time

import box as box_module
import frames
import pytest


def a_silent_client_is_dropped(make_box):
    client = make_box().attach(hello=False)
    began = time.monotonic()
    client.wait_closed(10)
    assert 4 < time.monotonic() - began < 8
    assert client.process.wait(5) == 1


# evidence: lease
def the_lease_ends_an_orphan(make_box):
    box = make_box("--lease", "2")
    began = time.monotonic()
    assert box.wait() == 0 and 1.5 < time.monotonic() - began < 5


# evidence: lease
def the_lease_is_renewed_by_frames_only(make_box):
    box = make_box("--lease", "2")
    client = box.attach()
    began = time.monotonic()
    while time.monotonic() - began < 2.6:
        client.ping()
        time.sleep(0.3)
    client.start(frames.EXECUTE, "while True: print('noise', flush=True); time.sleep(0.05)")
    last = time.monotonic()
    assert box.wait() == 0 and 1.5 < time.monotonic() - last < 5


def a_stopped_pid_1_waits_before_it_ends(make_box):
    box = make_box("--lease", "5")
    client = box.attach()
    os.kill(box.pid, signal.SIGSTOP)
    time.sleep(5.3)
    os.kill(box.pid, signal.SIGCONT)
    assert client.ping() == b"ping", "the lease was over, but not by the manager's fault"


# evidence: lease
def the_lifetime_ends_with_a_cause(make_box):
    box = make_box("--lifetime", "2")
    client = box.attach()
    number = client.start(frames.EXECUTE, "print('partial', flush=True); time.sleep(50)")
    assert client.event("ending")["cause"] == "lifetime"
    reply = client.finish(number)
    assert reply.ending == "interrupted" and reply.end["kernel"] == "gone" and reply.out == b"partial\n"
    assert box.wait() == 0


def an_unclaimed_container_lives_by_its_start_lease(make_box):
    box = make_box("--lease", "2")
    client = box.attach()
    claimed = client.claim("a" * 26, lease_seconds=600, lifetime_seconds=4)
    assert claimed["lease_seconds"] == 600 and 3 <= claimed["lifetime_left_seconds"] <= 4
    began = time.monotonic()
    assert client.event("ending")["cause"] == "lifetime"
    assert 3 < time.monotonic() - began < 7, "neither the start's lease nor none at all, but the claim's lifetime"
    assert box.wait() == 0


STORIES = [an_unclaimed_container_lives_by_its_start_lease, a_silent_client_is_dropped, the_lease_ends_an_orphan,
           the_lease_is_renewed_by_frames_only, a_stopped_pid_1_waits_before_it_ends, the_lifetime_ends_with_a_cause]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("boxes")  # before there are threads, since pytest makes its folder at the first call
    numbers = itertools.count()
    boxes = []

    def make(*options):
        own = folder / str(next(numbers))
        own.mkdir()
        boxes.append(box_module.Box(own, *options))
        return boxes[-1]

    with concurrent.futures.ThreadPoolExecutor(len(STORIES)) as pool:
        yield {story: pool.submit(story, make) for story in STORIES}
    for box in boxes:
        box.close()


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test(told, story):
    told[story].result(30)
