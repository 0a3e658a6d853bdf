"""The Python module's checkpoints: they are saved, listed, returned to and dropped, and a crash goes back to one."""

import asyncio

import husk
import pytest
from conftest import places


def test_an_undo_returns_to_a_name_or_to_a_run(manager):
    with husk.Session("python", manager=manager, network=False) as s:
        first = s.run("x = 1").run
        saved = s.checkpoint("one")
        assert (saved.name, saved.run, saved.lost) == ("one", first, [])
        second = s.run("x = 2; open('new.txt', 'w').close()").run
        s.checkpoint("two")
        third = s.run("x = 3").run
        s.checkpoint("three")
        assert {"one", "two", "three"} <= {one.name for one in s.status().checkpoints} and s.status().no_checkpoints is None
        s.drop_checkpoint("three")
        with pytest.raises(husk.NotFoundError) as refused:
            s.undo("three")
        assert "'two' (after run 2)" in refused.value.hint and "three" not in {one.name for one in s.status().checkpoints}
        back = s.undo("one")
        assert (back.name, back.run, back.missing, back.files, back.more_files) == ("one", first, [second, third], ["new.txt"], False)
        assert "Variables are as they were after run 1" in back.note and s.run("x").json() == 1
        assert s.undo(second).name == "two" and s.run("x").json() == 2


def test_a_crash_goes_back_to_the_checkpoint(manager):
    with husk.Session("python", manager=manager, network=False) as s:
        s.run("x = 1")
        s.checkpoint("a")
        died = s.run("x = 2; import os; os._exit(3)")
        assert (died.ending, died.restored.run, died.restored.missing, died.kernel_restarted) == ("kernel_died", 1, [2], False)
        assert "Variables are as they were after run 1" in str(died)
        kept = s.run("x")
        assert kept.json() == 1 and kept.restored is None


def test_branches_run_apart_and_one_is_kept(manager):
    with husk.Session("python", manager=manager, network=False) as s:
        s.run("x = 1")
        with s.branch("a") as a, s.branch("b") as b:
            assert a.run("x += 10; x").json() == 11 and b.run("x += 20; x").branch == "b" and s.run("x").json() == 1
            shown = {one.name: one for one in s.status().branches}
            assert shown["a"].runs == [2] and shown["b"].state == "ready"
            assert b.keep().missing == [4]
        assert s.run("x").json() == 21 and s.status().branches == []
        with pytest.raises(husk.NotFoundError):
            s.keep("a")
        with pytest.raises(husk.InvalidError, match="branch"):
            s.run("1", branch="a b")


def test_a_wrong_choice_raises(manager):
    with husk.Session("node", manager=manager, network=False) as s:
        with pytest.raises(husk.InvalidError, match="cannot have checkpoints: Only Python and R") as refused:
            s.checkpoint("a")
        assert "in a file" in refused.value.hint and "Only Python and R" in s.status().no_checkpoints
        with pytest.raises(husk.InvalidError, match="name of the checkpoint") as refused:
            s.checkpoint("a b")
        assert "letters, digits" in refused.value.hint
        for wrong, error in ((True, TypeError), (None, TypeError), (1.5, TypeError), (-1, ValueError), (2**32, ValueError)):
            with pytest.raises(error):
                s.undo(wrong)


def test_asyncio(tmp_path):
    async def work():
        async with husk.aio.SandboxManager(places(tmp_path), environment=False) as manager:
            async with husk.aio.Session("python", manager=manager, network=False) as s:
                await s.run("x = 1")
                assert (await s.checkpoint("a")).name == "a"
                await s.run("x = 2")
                assert (await s.undo("a")).missing == [2]
                assert (await s.run("x")).json() == 1
                await s.drop_checkpoint("a")
                await s.branch("b", "c")
                assert (await s.run("x + 1", branch="c")).json() == 2
                assert (await s.keep("c")).name == "c"

    asyncio.run(work())
