"""The short path through a cell: plain Python takes it and behaves the same. Each test states one fact."""

import pytest

RUNTIME = "python"

WATCH = """
import husk_kernel.link, IPython.core.inputtransformer2 as transformer, IPython.core.interactiveshell as ishell
long_way, writes = [], []
Shell, Link = ishell.InteractiveShell, husk_kernel.link.Link
Shell.transform_cell = lambda self, cell, real=Shell.transform_cell: (long_way.append(cell), real(self, cell))[1]
Link._write = lambda self, data, real=Link._write: (writes.append(bytes(data)), real(self, data))[1]
"""


@pytest.fixture
def watched(fresh_kernel):
    fresh_kernel.run(WATCH)
    fresh_kernel.run("del long_way[:], writes[:]")
    return fresh_kernel


@pytest.mark.parametrize("code", [
    "1+1", "x = 1", "print('%d' % 5)", "5 != 4", "'why?'; 5", "def f():\n    return 1\nf()", "f'{1!r}'", "'''\n  indented\n'''",
    "from __future__ import annotations\nx: Undefined = 1", "1/0", "x = = 3", "largest = 5", "ls = 3\nls", "",
])
def test_plain_python_bypasses_ipython(watched, code):
    watched.run(code)
    assert watched.run("len(long_way) <= (not %r)" % code).text == "True"


def test_a_result_and_the_end_of_its_cell_are_one_write(watched):
    watched.run("'x' * 10")
    assert watched.run("len(writes), b'result' in writes[-1], b'done' in writes[-1]").text == "(2, True, True)"
    watched.run("1/0")
    assert watched.run("len(writes), b'error' in writes[-1], b'done' in writes[-1]").text == "(4, True, True)"


@pytest.mark.parametrize("code, value", [
    ("who_ls", "[]"),
    ("pwd", None),
    ("ls = 5; ls", "5"),
    ("  5", "5"),
    ("\n\n5", "5"),
    (">>> 5", "5"),
    (">>> x = 5\n... x", None),
    ("In [1]: 5", "5"),
    ("x = 4\n...", None),
    ("x = !echo 5\nx[0]", "'5'"),
    ("x = \\\n  !echo 5\nx[0]", "'5'"),
    ("if True:\n    %time pass", None),
    ("%%time\n5", "5"),
    ("import asyncio; await asyncio.sleep(0, 5)", "5"),
    ("[x async for x in __import__('contextlib').aclosing.__mro__] if 0 else 5", "5"),
    ("x = 5\r\nx", "5"),
    ("x = 5\x0c\nx", "5"),
    ("x = '%s' % 5\nint(x)", "5"),
])
def test_notebook_syntax_works_as_in_a_notebook(fresh_kernel, code, value):
    outcome = fresh_kernel.run(code)
    assert outcome.error is None, outcome
    assert value is None or outcome.text == value


@pytest.mark.parametrize("code, expected", [
    ("not 5", "False"), ("*[1], 2", "(1, 2)"), ("5  # why", "5"), ("'é' 'b'", "'éb'"), ("None", None), ("5;", None), ("0x1f", "31"),
    ("(n := 5)", "5"), ("print(5)", None), ("foo bar", "SyntaxError"), ("yield 5", "SyntaxError"), ("[5", "SyntaxError"),
    ("'\\d'", "'\\\\d'"), ("5 is 5", "True"), ("5if 1else 2", "5"), ("missing", "NameError"),
])
def test_a_single_expression_behaves_as_among_statements(kernel, code, expected):
    alone, among = kernel.run(code), kernel.run("pass\n" + code)
    for outcome in (alone, among):
        assert (outcome.error["type"] if outcome.error else outcome.text) == expected
    assert alone.stdout == among.stdout and alone.stderr.count("Warning") == among.stderr.count("Warning")


def test_help_in_a_cell(kernel):
    assert "number of items" in kernel.run("x = 1\nlen?").stdout


def test_replaced_dictionary_of_outputs(fresh_kernel):
    fresh_kernel.run("_oh = 5")
    assert [fresh_kernel.run(code).text for code in ("6", "[7]", "8")] == ["6", "[7]", "8"]


def test_macro(kernel):
    kernel.run("from IPython.core.macro import Macro\nget_ipython().define_macro('again', 'm = 7\\n')")
    kernel.run("again")
    assert kernel.run("m").text == "7"


def test_every_statement_is_compiled_alone(kernel):
    assert kernel.run("a = 1234567\nb = 1234567\na is b").text == "False"


def test_future_statement_in_the_middle_of_a_cell(fresh_kernel):
    fresh_kernel.run("x = 1\nfrom __future__ import annotations\ndef f(a: Undefined): pass")
    assert fresh_kernel.run("f.__annotations__").text == "{'a': 'Undefined'}"


def test_future_statement_of_a_cell_that_does_not_compile(fresh_kernel):
    assert fresh_kernel.run("from __future__ import annotations\nreturn 2").error["type"] == "SyntaxError"
    assert fresh_kernel.run("def f(a: Undefined): pass").error["type"] == "NameError"


EVENTS = ["pre_execute", "pre_run_cell", "post_execute", "post_run_cell"]


@pytest.mark.parametrize("event", EVENTS)
def test_registered_events_are_triggered(fresh_kernel, event):
    fresh_kernel.run("seen = []\ndef see(*what): seen.append(what)")
    fresh_kernel.run(f"get_ipython().events.register('{event}', see)")
    fresh_kernel.run("5")
    count = 2 if event.startswith("post") else 1  # the cell that registers it triggers it too, at its end
    assert fresh_kernel.run("len(seen)").text == str(count + event.startswith("pre"))
    fresh_kernel.run(f"get_ipython().events.unregister('{event}', see)")


def test_result_in_post_run_cell(fresh_kernel):
    fresh_kernel.run("""
        results = []
        def see(result): results.append((result.success, result.result, result.info.raw_cell, result.execution_count))
        get_ipython().events.register('post_run_cell', see); 'own'
        """)
    fresh_kernel.run("1 + 1")
    own, second = eval(fresh_kernel.run("results[:2]").text)
    assert own[:2] == (True, "own") and own[3] == 1 and second == (True, 2, "1 + 1", 2)


def test_ast_transformers(fresh_kernel):
    fresh_kernel.run("""
        import ast
        class Double(ast.NodeTransformer):
            def visit_Constant(self, node): return ast.Constant(node.value * 2) if type(node.value) is int else node
        get_ipython().ast_transformers.append(Double())
        """)
    assert fresh_kernel.run("21").text == "42"
    fresh_kernel.run("get_ipython().ast_transformers.clear()")
    assert fresh_kernel.run("21").text == "21"


@pytest.mark.parametrize("hook", ["input_transformers_cleanup", "input_transformers_post", "input_transformer_manager.line_transforms"])
def test_input_transformers(fresh_kernel, hook):
    fresh_kernel.run("def swap(lines): return [line.replace('twenty', '20') for line in lines]")
    fresh_kernel.run(f"get_ipython().{hook}.append(swap)")
    assert fresh_kernel.run("twenty + 1").text == "21"


def test_replaced_methods_of_the_shell(fresh_kernel):
    fresh_kernel.run("ip = get_ipython()\nip.run_cell = lambda code, real=ip.run_cell, **more: real(code.replace('twenty', '20'), **more)")
    assert fresh_kernel.run("twenty + 1").text == "21"


def test_cell_log(fresh_kernel, tmp_path):
    fresh_kernel.run("%logstart -o log.py")
    fresh_kernel.run("logged = 1")
    fresh_kernel.run("%logstop")
    assert "logged = 1" in (tmp_path / "log.py").read_text()


def test_shown_assignments_on_request(fresh_kernel):
    fresh_kernel.run("get_ipython().ast_node_interactivity = 'last_expr_or_assign'")
    assert fresh_kernel.run("x = 5").text == "5" and fresh_kernel.run("x += 1").text == "6" and fresh_kernel.run("x.y = 1") is not None
    assert fresh_kernel.run("a, b = 1, 2").result is None


def test_autocall(fresh_kernel):
    fresh_kernel.run("%autocall 1")
    assert fresh_kernel.run("len 'abc'").text == "3"


def test_execution_numbers_and_history_continue(fresh_kernel):
    for code in ("'one'", "%pwd", "1/0", "x = = 1", "!true", "'six'"):
        fresh_kernel.run(code)
    assert fresh_kernel.run("_i, _ii, _i1, In[6], get_ipython().execution_count").text == "(\"'six'\", '!true', \"'one'\", \"'six'\", 7)"
    assert '"<cell 8>", line 1' in fresh_kernel.run("1/0").error["traceback"]


def test_own_display_hook_lasts_for_its_cell(kernel):
    assert kernel.run("import sys\nsys.displayhook = lambda value: print('mine', value)\n5").stdout == "mine 5\n"
    assert kernel.run("5").text == "5"


def test_nested_cell(kernel):
    outcome = kernel.run("get_ipython().run_cell('nested = 6'); nested + 1")
    assert outcome.text == "7" and outcome.stdout == ""


def test_get_ipython_of_builtins(kernel):
    assert kernel.run("import builtins\nbuiltins.get_ipython() is get_ipython(), hasattr(builtins, 'exit')").text == "(True, False)"
