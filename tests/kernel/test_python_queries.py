"""Queries of consoles and editors to the Python kernel. Each test states one fact."""

import time

RUNTIME = "python"


def test_names_attributes_keys_files_and_magics_are_completed(kernel, workspace):
    (workspace / "data-for-completion.csv").touch()
    kernel.run("import math\nfrühling = 1\nclass Thing:\n    colour = 5\nthing = Thing()\nd = {'kolumne': 1}")
    assert kernel.complete("früh") == ["frühling"]
    assert kernel.complete("x = 1\nmath.facto") == ["x = 1\nmath.factorial"]
    assert kernel.query("complete", "math.facto")["matches"] == ["factorial"], "as a list of names shows it"
    assert kernel.query("complete", "open('data-for-completion.c")["matches"] == ["data-for-completion.csv"]
    assert kernel.complete("thing.col + 1", 9) == ["thing.colour + 1"]
    assert kernel.complete("d['kol") in (["d['kolumne"], ["d['kolumne'"], ["d['kolumne']"])
    assert kernel.complete("open('data-for") == ["open('data-for-completion.csv"]
    assert "%timeit" in kernel.complete("%timei")
    assert "import json" in kernel.complete("import jso")
    assert kernel.complete("nobody_has_this_na") == []
    assert kernel.complete(""), "everything, bounded"


def test_a_query_leaves_nothing_behind(kernel):
    kernel.run("41 + 1")
    before = kernel.run("len(In), _").text
    kernel.run("""
        import sys
        class Loud:
            def __dir__(self):
                print("dir!"); print("dir!", file=sys.stderr); import warnings; warnings.warn("dir!")
                return ["shy"]
        loud = Loud()
    """)
    assert kernel.complete("loud.s") == ["loud.shy"]
    kernel.help("loud")
    kernel.wholeness("loud")
    outcome = kernel.run("len(In), _")
    assert "dir!" not in outcome.stdout + outcome.stderr
    assert eval(outcome.text) == (eval(before)[0] + 2, eval(before)), "as after two cells"


def test_a_slow_query_is_abandoned(kernel):
    kernel.run("""
        import os, time
        class Slow:
            def __dir__(self):
                os.write(1, b"go\\n")
                time.sleep(1000)
        slow = Slow()
    """)
    began = time.monotonic()
    assert kernel.query("complete", "slow.x", leave=True)["status"] == "timeout"
    assert time.monotonic() - began < 100
    assert kernel.run("1 + 1").text == "2"
    assert kernel.complete("time.monoto")


def test_a_signal_between_queries_and_cells_is_ignored(kernel):
    import os
    for _ in range(20):
        kernel.complete("prin")
        os.kill(kernel.process.pid, kernel._signal)
        assert kernel.run("1 + 1").text == "2"


def test_help_is_signature_and_docstring_with_more_on_request(kernel):
    kernel.run('def double(n):\n    """Twice as much."""\n    return n + n')
    text = kernel.help("1 + double(5", 12)
    assert "double(n)" in text and "Twice as much." in text and "return n + n" not in text and "\x1b" not in text
    assert "return n + n" in kernel.help("double", detail=1)
    assert kernel.help("nobody_has_this_name") is None
    assert kernel.help("") is None


def test_whole_and_unfinished_code(kernel):
    assert kernel.wholeness("x = 1") == ("complete", "")
    assert kernel.wholeness("for i in range(3):") == ("incomplete", "    ")
    assert kernel.wholeness("f(1,")[0] == "incomplete"
    assert kernel.wholeness("x = = 1")[0] == "invalid"
    assert kernel.wholeness("%time x")[0] == "complete"


def test_answers_are_bounded(kernel):
    kernel.run("""
        class Many:
            def __dir__(self):
                return [f"name_{i}_{'x' * 900}" for i in range(5000)]
        many = Many()
        wide = type("Wide", (), {"__doc__": "x" * 1_000_000})
        odd = type("Odd", (), {"__dir__": lambda self: ["a\\ud800", "b\\0", 5]})()
        bad = type("Bad", (), {"__dir__": lambda self: 1 / 0, "__repr__": lambda self: 1 / 0})()
    """)
    answer = kernel.query("complete", "many.")
    assert answer["more"] and len(answer["matches"]) < 1001 and len(repr(answer)) < 250_000
    assert len(kernel.help("wide")) < 40_000
    kernel.complete("odd.")
    assert kernel.query("complete", "bad.")["status"] == "ok"
    assert kernel.query("inspect", "bad")["status"] == "ok"
