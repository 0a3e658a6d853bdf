"""Queries of consoles and editors to the Node kernel, answered without running user code."""

from node_binary import node  # noqa: F401

RUNTIME = "node"

CELL = """
let zebra = { stripes: 5, nested: { deep: [1, 2], "odd-name": 1 }, get loud() { touched++; return {} } }
var touched = 0
class Pot { constructor(size, lid = 'none') { this.size = size } pour(cups) { return cups } static of(n) { return new Pot(n) } }
const pot = new Pot(3)
function double(n, times = 2) { return n * times }
var trap = new Proxy({ inside: 1 }, { get() { touched++ }, ownKeys() { touched++; return [] }, getPrototypeOf() { touched++; return null },
  getOwnPropertyDescriptor() { touched++ } })
const größe = 1
const big = new Array(1e6).fill(0), bytes = new Uint8Array(1e6)
Object.defineProperty(globalThis, 'active', { get() { touched++; return {} }, configurable: true })
var tagged = { get [Symbol.toStringTag]() { touched++; return 'x' } }
touched = 0
"""


def test_names_and_properties_are_completed(kernel):
    kernel.run(CELL)
    assert kernel.complete("zeb") == ["zebra"]
    assert kernel.complete("1 + zebra.str") == ["1 + zebra.stripes"]
    assert kernel.complete("zebra.nested.de + 1", 15) == ["zebra.nested.deep + 1"]
    assert kernel.complete("zebra?.nested['deep'][0].toF") == ["zebra?.nested['deep'][0].toFixed"]
    assert kernel.complete("pot.") [:1] == ["pot.size"] and "pot.pour" in kernel.complete("pot.")
    assert kernel.complete("let s = '😀'; grö") == ["let s = '😀'; größe"]
    assert kernel.complete("fs.readFileSy") == ["fs.readFileSync"]
    assert kernel.complete("'text'.toUpperC") == ["'text'.toUpperCase"]
    assert "big.map" in kernel.complete("big.ma") and "bytes.subarray" in kernel.complete("bytes.sub")
    assert kernel.complete("require('fs/p") == ["require('fs/promises"]
    assert "function" in kernel.complete("fun")
    assert kernel.complete("double(2).x") == kernel.complete("nobody_has_this.x") == kernel.complete("3.x") == []
    assert "zebra.nested.odd-name" not in kernel.complete("zebra.nested.")


def test_queries_run_no_code_and_leave_nothing_behind(kernel):
    kernel.run(CELL)
    kernel.run("41 + 1")
    for code in ("zebra.loud.", "zebra.loud", "trap.", "trap.inside.x", "active.", "active", "tagged", "zebra", "trap", "_."):
        kernel.complete(code)
        kernel.help(code)
    outcome = kernel.run("[touched, _]")
    assert outcome.text == "[ 0, 42 ]", outcome


def test_help_is_type_and_signature_with_more_on_request(kernel):
    kernel.run(CELL)
    text = kernel.help("1 + double(5, ")
    assert "double(n, times = 2)" in text and "return" not in text
    assert "return n * times" in kernel.help("double", detail=1)
    assert "Pot(size, lid = 'none')" in kernel.help("new Pot(") and "pour(cups)" in kernel.help("pot.pour")
    assert "Type:   Object" in kernel.help("zebra") and "stripes: 5" in kernel.help("zebra") and "(getter)" in kernel.help("zebra")
    assert "built in" in kernel.help("Math.max(") and "Type:   Proxy" in kernel.help("trap")
    assert kernel.help("nobody_has_this") is None and kernel.help("") is None


def test_whole_and_unfinished_code(kernel):
    assert kernel.wholeness("x = 1") == ("complete", "")
    assert kernel.wholeness("function f() {") == ("incomplete", "  ")
    for code in ("f(1,", "`text", "/* note", "const a = [\n  1,", "if (a) {\n  b(", "let x: number = {"):
        assert kernel.wholeness(code)[0] == "incomplete", code
    for code in ("x = = 1", "let 5", "'text"):
        assert kernel.wholeness(code)[0] == "invalid", code
    assert kernel.wholeness("let x: number = 5")[0] == kernel.wholeness("await 1")[0] == kernel.wholeness("")[0] == "complete"


def test_answers_are_bounded(kernel):
    kernel.run("var many = {}; for (let i = 0; i < 5000; i++) many['name_' + i + 'x'.repeat(200)] = 1; var odd = { 'a\\ud800': 1 }")
    answer = kernel.query("complete", "many.")
    assert answer["more"] and len(answer["matches"]) <= 1000 and len(repr(answer)) < 250_000
    assert len(kernel.help("many", detail=1)) < 40_000
    kernel.complete("odd.")
