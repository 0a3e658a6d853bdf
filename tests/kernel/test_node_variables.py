"""runtimes/node/husk/variables.mjs lists what cells have declared without running user code."""

import json
import subprocess

from node_binary import ROOT, node  # noqa: F401

SCRIPT = """
import { createContext } from "HUSK/context.mjs";
import { Evaluator } from "HUSK/evaluator.mjs";
import { describe, pairsOf } from "HUSK/variables.mjs";
const { context, name } = createContext();
const box = {};
Object.defineProperty(context, "__husk", { value: { box } });
const evaluator = new Evaluator(name, box, "__husk.box");
const before = new Set(Object.getOwnPropertyNames(context));
await new Promise((resolve) => evaluator.evaluate(process.argv[1], resolve));
await new Promise((resolve) => evaluator.evaluate("let never = missing; 1", resolve));
console.log(JSON.stringify(describe(pairsOf(context, evaluator, before), Number(process.argv[2] ?? 100))));
process.exit(0);
"""
CELL = """
let number = 5; const text = 'x'.repeat(1000); class Shape {}; var list = [1, [2], { a: 3 }]; function area() {}
let big = new Float64Array(1e6), map = new Map([[1, 2]]), shape = new Shape(), nothing = null, later = Promise.resolve();
var touched = 0
var trap = new Proxy({}, { get() { touched++ }, ownKeys() { touched++; return [] }, getPrototypeOf() { touched++; return null } })
var getters = { get a() { touched++; return 1 } }
Object.defineProperty(globalThis, 'active', { get() { touched++ }, enumerable: true, configurable: true })
const many = Array.from({ length: 100000 }, (_, i) => 'item ' + i)
"""


def listed(node, *limit):  # noqa: F811
    script = SCRIPT.replace("HUSK", (ROOT / "runtimes/node/husk").as_uri())
    done = subprocess.run([node, "--input-type=module", "-e", script, "--", CELL, *limit], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_names_types_shapes_and_sizes(node):  # noqa: F811
    answer = listed(node)
    found = {v["name"]: (v["type"], v["shape"]) for v in answer["variables"]}
    assert found == {
        "number": ("number", ""), "text": ("string", "1000"), "Shape": ("class", ""), "list": ("Array", "3"), "area": ("function", ""),
        "big": ("Float64Array", "1000000"), "map": ("Map", "1"), "shape": ("Shape", "0"), "nothing": ("null", ""), "later": ("Promise", ""),
        "touched": ("number", ""), "trap": ("Proxy", ""), "getters": ("Object", "1"), "many": ("Array", "100000"),
    }
    assert answer["total"] == len(found)


def test_the_largest_come_first_and_their_number_is_limited(node):  # noqa: F811
    answer = listed(node, "3")
    assert [v["name"] for v in answer["variables"]] == ["big", "many", "text"] and answer["total"] == 14
    sizes = [v["bytes"] for v in answer["variables"]]
    assert 8e6 <= sizes[0] < 8.1e6 and 1e6 < sizes[1] < 4e6 and 1000 <= sizes[2] < 1100


def test_no_code_of_the_user_runs(node):  # noqa: F811
    script = SCRIPT.replace("HUSK", (ROOT / "runtimes/node/husk").as_uri())
    asks = script.replace("process.exit(0);", 'console.log(context.touched); process.exit(0);')
    done = subprocess.run([node, "--input-type=module", "-e", asks, "--", CELL], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "0"
