"""The Node kernel over its link: names, values, modules, errors, displays. Each test states one fact."""

import base64
import json
import re

import pytest
from node_binary import node, write  # noqa: F401

RUNTIME = "node"
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def clean(outcome):
    """Checks that a cell only computed a value, and returns its text."""
    assert [kind for kind, _ in outcome.log] in (["result"], []), outcome
    return outcome.text


# The result


def test_hello_names_the_language_version(kernel):
    assert kernel.run("process.versions.node").text == f"'{kernel.language_version}'"


@pytest.mark.parametrize("code, text", [
    ("1 + 1", "2"),
    ("-0", "-0"),
    ("2n ** 70n", "1180591620717411303424n"),
    ("null", "null"),
    ("Symbol('s')", "Symbol(s)"),
    ("new Map([[1, { a: [2] }]])", "Map(1) { 1 => { a: [ 2 ] } }"),
    ("const circular = {}; circular.self = circular", "<ref *1> { self: [Circular *1] }"),
    ("(class Shape { sides = 4 })", "[class Shape]"),
    ("new (class Shape { sides = 4 })", "Shape { sides: 4 }"),
    ("(function area() {})", "[Function: area]"),
    ("[1, , 3]", "[ 1, <1 empty item>, 3 ]"),
    ("Buffer.from('hi')", "<Buffer 68 69>"),
    ("{ a: 'žluťoučký 🐎' }", "{ a: 'žluťoučký 🐎' }"),
    ("Promise.resolve(new Promise(r => setTimeout(r, 5, 'awaited')))", "'awaited'"),
    ("(async () => { await null; return 7 })()", "7"),
])
def test_the_last_expression_is_shown_as_in_the_repl(kernel, code, text):
    assert clean(kernel.run(code)) == text


@pytest.mark.parametrize("code", ["", " \n", "// nothing", "undefined", "let nothing = 5", "function nothing2() {}", "Promise.resolve()"])
def test_no_result(kernel, code):
    assert kernel.run(code).log == []


@pytest.mark.parametrize("code, value", [
    ("{ a: [1, 'two', null, true], b: { c: 1.5 } }", {"a": [1, "two", None, True], "b": {"c": 1.5}}),
    ("[]", []),
    ("JSON.parse('{\"__proto__\": 1}')", {"__proto__": 1}),
    ("require('node:querystring').parse('a=1')", {"a": "1"}),
])
def test_plain_data_comes_as_json_too(kernel, code, value):
    assert kernel.run(code).result["application/json"] == value


@pytest.mark.parametrize("code", [
    "5", "'text'", "[undefined]", "({ f() {} })", "[new Date()]", "new Map()", "[NaN]", "[1n]", "({ get a() { return 1 } })",
    "new Proxy({}, {})", "[2 ** 70]", "let deep = []; for (let i = 0; i < 1000; i++) deep = [deep]; deep", "Array(20000).fill([1, [2]])",
    "let loop = []; loop.push(loop); loop",
])
def test_other_values_do_not_come_as_json(kernel, code):
    assert list(kernel.run(code).result) == ["text/plain"]


def test_lone_surrogates_and_nuls_do_not_break_the_link(kernel):
    assert kernel.run("['\\ud800', '\\0']").result["application/json"] == ["\ufffd", "\ufffd"]
    assert kernel.run("throw new Error('\\ud800\\0')").error["message"] == "\ufffd\ufffd"


def test_a_cause_is_shown_without_frames_of_the_kernel(kernel):
    shown = kernel.run("console.log(new Error('a', { cause: new Error('b') }))").stdout
    assert "[cause]" in shown and "node:" not in shown and "lines matching" not in shown


def test_changes_of_the_vm_module_do_not_affect_later_cells(fresh_kernel):
    fresh_kernel.run("require('vm').Script = class {}; 1")
    assert fresh_kernel.run("1 + 1").text == "2"


@pytest.mark.parametrize("length", [65_000, 65_536, 3_000_000])
def test_long_cells_come_in_pieces(kernel, length):
    assert kernel.run(f"'{'x' * length}\u00e9'.length").text == str(length + 1)


def test_long_results_are_cut_in_the_middle(kernel):
    text = kernel.run("({ [util.inspect.custom]: () => 'x'.repeat(3e6) })").text
    assert len(text) < 1_100_000 and "left out" in text


def test_underscore_is_the_last_result(fresh_kernel):
    fresh_kernel.run("6 * 7")
    assert fresh_kernel.run("_ + 1").text == "43"
    fresh_kernel.run("const _ = 'mine'; 5")
    assert fresh_kernel.run("_").text == "'mine'"


# Names


DECLARATIONS = [
    "let NAME = 2", "const NAME = 2", "var NAME = 2", "class NAME { static v = 2 }", "function NAME() {}\nNAME.v = 2",
    "const NAME = await 2",
    "let { a: { NAME } } = { a: { NAME: 2 } }", "const [, NAME = 2] = []", "for (var NAME of [1, 2]);", "import NAME from 'node:module'",
    "import * as NAME from 'node:fs'",
]


@pytest.mark.parametrize("first", DECLARATIONS)
def test_names_persist_and_can_be_declared_again_in_any_way(kernel, first):
    for n, second in enumerate(DECLARATIONS):
        name = f"name{DECLARATIONS.index(first)}_{n}"
        assert kernel.run(first.replace("NAME", name)).error is None
        assert kernel.run(f"typeof {name}").text != "'undefined'"
        outcome = kernel.run(second.replace("NAME", name))
        assert outcome.error is None, (first, second, outcome)
        assert kernel.run(f"typeof {name} === 'number' ? {name} : {name}.v ?? typeof {name}").text in ("2", "'function'", "'object'")


@pytest.mark.parametrize("code", [
    "c = 2", "c++", "c += 1", "[c] = [2]", "({ c } = { c: 2 })", "({ a: c = 3 } = {})", "(() => { c = 2 })()", "for (c of [1]);",
    "const d = 1; { let d = 2; d = 3; c = d }", "const d = 1; d = 2",
])
def test_constants_stay_constant(kernel, code):
    kernel.run("const c = 1")
    outcome = kernel.run(code)
    assert (outcome.error["type"], outcome.error["message"]) == ("TypeError", "Assignment to constant variable.")
    assert kernel.run("c").text == "1"


@pytest.mark.parametrize("code", [
    "((k) => { k = 2; return k })(1)", "{ let k; k = 2 }", "for (let k = 0; k < 2; k++); 2", "function f(k) { k++; return k }; f(1)",
    "try { throw 1 } catch (k) { k = 2 }", "(() => { var k; k = 2; return k })()", "({ k: 1 }).k = 2", "let k = 1; k = 2",
])
def test_constants_can_be_shadowed(kernel, code):
    kernel.run("const k = 1")
    assert kernel.run(code).text == "2"


def test_closures_and_blocks_are_real(kernel):
    assert kernel.run("const all = []; for (let i = 0; i < 3; i++) all.push(() => i); all.map(f => f())").text == "[ 0, 1, 2 ]"
    kernel.run("{ let inBlock = 1; var outOfBlock = 2 }")
    assert kernel.run("[typeof inBlock, typeof outOfBlock]").text == "[ 'undefined', 'number' ]"
    assert kernel.run("early; let early = 1").error["type"] == "ReferenceError"


def test_functions_see_later_values_of_a_name(kernel):
    kernel.run("let rate = 1; function price() { return 10 * rate }")
    kernel.run("let rate = 2")
    assert kernel.run("price()").text == "20"


def test_top_level_await_with_declarations(kernel):
    kernel.run("const answer = await new Promise(r => setTimeout(r, 2, 42)), { a, b: [c2] } = await { a: 1, b: [2] }")
    kernel.run("for await (const n of (async function* () { yield 1; yield 2 })()) var total = (total ?? 0) + n")
    assert kernel.run("[answer, a, c2, total]").text == "[ 42, 1, 2, 3 ]"
    assert kernel.run("await (1, 2) + (await (await Promise.resolve(3)))").text == "5"


def test_a_cell_that_fails_keeps_its_declarations(kernel):
    kernel.run("let before = 1; throw new Error('x'); let after = 2")
    assert kernel.run("before").text == "1"
    assert kernel.run("let after = 3; after").text == "3"


# Globals


GLOBALS = """fetch URL URLSearchParams Blob File TextEncoder TextDecoder structuredClone AbortController AbortSignal crypto performance
setTimeout setInterval setImmediate clearTimeout clearInterval clearImmediate queueMicrotask Buffer process console WebAssembly require
module exports __filename __dirname global globalThis navigator Event EventTarget MessageChannel BroadcastChannel ReadableStream
WritableStream TransformStream CompressionStream TextDecoderStream Headers Request Response FormData WebSocket DOMException atob btoa Intl
SharedArrayBuffer Atomics CustomEvent display"""


def test_the_globals_of_a_node_program(kernel):
    assert kernel.run(f"{GLOBALS.split()}.filter(n => typeof globalThis[n] === 'undefined')").text == "[]"
    code = "Object.getOwnPropertyNames(require('vm').runInThisContext('globalThis')).filter(n => !(n in globalThis))"
    assert kernel.run(code).text == "[]"
    assert kernel.run("global === globalThis && this === globalThis && Object.keys(globalThis).includes('fetch')").text == "true"


def test_lazily_loaded_globals_are_ordinary_ones(fresh_kernel):
    assert clean(fresh_kernel.run("new Response('x') instanceof Response && Object.getOwnPropertyDescriptor(globalThis, 'Response')")) == \
        fresh_kernel.run("vm.runInThisContext(\"Object.getOwnPropertyDescriptor(globalThis, 'Response')\")").text
    assert clean(fresh_kernel.run("Headers = 5; class FormData {}; [Headers, FormData]")) == "[ 5, [class FormData] ]"
    assert clean(fresh_kernel.run("const fs = { mine: true }; fs")) == "{ mine: true }"


@pytest.mark.parametrize("code, text", [
    ("crypto.randomUUID().length", "36"),
    ("new URL('http://a/b?c').search", "'?c'"),
    ("new TextEncoder().encode('é')", "Uint8Array(2) [ 195, 169 ]"),
    ("structuredClone(new Map([[1, 2]]))", "Map(1) { 1 => 2 }"),
    ("await (await fetch('data:text/plain,hello')).text()", "'hello'"),
    ("new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])) instanceof WebAssembly.Module", "true"),
    ("await new Promise(r => queueMicrotask(() => setImmediate(r, 'ok')))", "'ok'"),
    ("performance.now() > 0 && navigator.hardwareConcurrency > 0", "true"),
    ("require('path').basename(__filename) + module.exports === exports + '' || require.main === module", "true"),
    ("new Function('return typeof fetch')() + eval('var viaEval = 5; viaEval')", "'function5'"),
    ("process.argv.length + process.execArgv.length", "1"),
])
def test_globals_work(kernel, code, text):
    assert clean(kernel.run(code)) == text


@pytest.mark.parametrize("code", [
    "[] instanceof Array && ({}) instanceof Object && (() => {}) instanceof Function && /x/ instanceof RegExp",
    "fs.readdirSync('/') instanceof Array && os.cpus()[0] instanceof Object && fs.statSync instanceof Function",
    "(() => { try { require('fs').readFileSync('/nowhere') } catch (e) { return e instanceof Error && !(e instanceof TypeError) } })()",
    "await fetch('bad:').catch(e => e instanceof TypeError && e instanceof Error)",
    "fetch('data:,') instanceof Promise && (async () => {})() instanceof Promise && timers.promises.setTimeout(1) instanceof Promise",
    "Buffer.alloc(1) instanceof Uint8Array && new Date() instanceof Date && structuredClone(new Map()) instanceof Map",
    "class E extends Error {}; new E() instanceof E && new E() instanceof Error && !(new Error() instanceof E)",
    "!(1 instanceof Object) && !(Object.create(null) instanceof Object) && !([] instanceof Function)",
    "(await import('node:events')).EventEmitter.prototype instanceof Object",
    "util.isDeepStrictEqual(require('os').cpus().slice(0, 0), [])",
])
def test_instanceof_works_for_values_of_node(kernel, code):
    assert clean(kernel.run(code)) == "true"


def test_assert_compares_across_modules(kernel, workspace):
    write(workspace, "pairs.js", "exports.pairs = () => [[1, 'a'], { b: new Set([1]) }]")
    write(workspace, "pairs.mjs", "export const pairs = () => [[1, 'a'], { b: new Set([1]) }]")
    kernel.run("const assert = require('assert'); const expected = [[1, 'a'], { b: new Set([1]) }]")
    assert kernel.run("assert.deepStrictEqual(require('./pairs').pairs(), expected)").log == []
    assert kernel.run("import { pairs } from './pairs.mjs'; assert.deepStrictEqual(pairs(), expected)").log == []
    assert kernel.run("import { deepEqual } from 'assert/strict'; deepEqual(pairs(), expected)").log == []
    assert kernel.run("assert.deepStrictEqual(pairs(), [[1, 'b']])").error["type"] == "AssertionError"
    assert kernel.run("assert.notDeepStrictEqual(pairs(), expected)").error["type"] == "AssertionError"
    assert kernel.run("class P { x = [1] }; assert.deepStrictEqual(new P(), { x: [1] })").error["type"] == "AssertionError"


def test_prototypes_of_a_cell_are_not_the_kernels(fresh_kernel):
    code = "for (const { prototype: p } of [Array, Object, Promise, String, Function]) for (const k of Object.getOwnPropertyNames(p)) " \
           "if (k !== 'constructor') try { p[k] = () => { throw new Error('polluted') } } catch {}"
    fresh_kernel.run(code)
    assert fresh_kernel.run("6 * 7").text == "42"


# Modules


def test_require_and_import_find_the_workspace_and_what_is_installed(kernel, workspace):
    write(workspace, "local.js", "module.exports = { here: __filename, isArray: x => x instanceof Array }")
    write(workspace, "data.json", '{"a": [1]}')
    write(workspace, "esm.mjs", "import { sep } from 'path'; export default 'd'; export const n = sep; export { n as 'odd name' }")
    write(workspace, "node_modules/cjs-pkg/index.js", "exports.who = 'cjs'")
    write(workspace, "node_modules/esm-pkg/package.json", '{"name": "esm-pkg", "type": "module", "exports": "./m.js"}')
    write(workspace, "node_modules/esm-pkg/m.js", "export const who = 'esm'; export default class Thing {}; export const f = (...a) => a")
    assert kernel.run("require('./local').here").text == f"'{workspace}/local.js'"
    assert kernel.run("require('./local').isArray([])").text == "true"
    assert kernel.run("require('./data.json').a instanceof Array && require('./data')").text == "{ a: [ 1 ] }"
    assert kernel.run("require('cjs-pkg').who + require('esm-pkg').who").text == "'cjsesm'"
    assert kernel.run("(await import('cjs-pkg')).default.who + (await import('esm-pkg')).who").text == "'cjsesm'"
    assert kernel.run("import d, { n, 'odd name' as odd } from './esm.mjs';\n[d, n, odd]").text == "[ 'd', '/', '/' ]"
    code = "import Thing, * as pkg from 'esm-pkg'\nimport {\n  who,\n  f,\n} from 'esm-pkg'\n[typeof Thing, pkg.who, who, f(1).length]"
    assert kernel.run(code).text == "[ 'function', 'esm', 'esm', 1 ]"
    assert kernel.run("import j from './data.json' with { type: 'json' }; import 'node:fs'; j").text == "{ a: [ 1 ] }"
    assert kernel.run("require.resolve('cjs-pkg')").text == f"'{workspace}/node_modules/cjs-pkg/index.js'"


def test_static_imports_in_the_middle_keep_lines(kernel):
    outcome = kernel.run("let n = 1\nimport {\n  join,\n  sep\n} from 'node:path'\nthrow new Error(join('a', sep))")
    assert traceback_of(outcome) == "Error: a/\n    at <cell N>:6:7"


def traceback_of(outcome):
    return re.sub(r"<cell \d+>", "<cell N>", outcome.error["traceback"])


def test_missing_modules_and_exports(kernel):
    assert kernel.run("import { nope } from 'fs'").error["message"] == "The requested module 'fs' does not provide an export named 'nope'"
    assert "Cannot find package 'nope-pkg'" in kernel.run("import x from 'nope-pkg'").error["message"]


@pytest.mark.parametrize("code, message, name", [
    ("require('nope-pkg')", "Cannot find module 'nope-pkg'", "nope-pkg"),
    ("require('@a/nope/sub')", "Cannot find module '@a/nope/sub'", "@a/nope"),
    ("await import('nope-pkg/fp')", "Cannot find package 'nope-pkg' imported from ", "nope-pkg"),
    ("require('./asks-for-nope')", "Cannot find module 'nope-pkg'", "nope-pkg"),
    ("require('./nope')", "Cannot find module './nope'\nRequire stack:\n- <cell>", None),
])
def test_missing_packages_are_reported_in_one_line(kernel, workspace, code, message, name):
    write(workspace, "asks-for-nope.js", "require('nope-pkg')")
    error = kernel.run(code).error
    assert error["message"].startswith(message) and ("Require stack" in error["message"]) == (name is None)
    assert "install" not in error["traceback"], "the server gives the hint"
    assert name is None or ("requireStack" not in error["traceback"] and "- <cell>\n" not in error["traceback"])
    assert "/husk/" not in error["traceback"] and "findFrom" not in error["traceback"]


def test_installed_dependencies_by_node_path(start, tmp_path):
    write(tmp_path, "deps/node_modules/dep/index.js", "module.exports = 'dep'")
    with start(tmp_path, NODE_PATH=str(tmp_path / "deps/node_modules")) as kernel:
        assert kernel.run("require('dep') + (await import('dep')).default").text == "'depdep'"
        assert kernel.run("import dep from 'dep'; dep").text == "'dep'"
        write(tmp_path, "deps/node_modules/later/index.mjs", "export default 'later'")
        write(tmp_path, "deps/node_modules/later/package.json", '{"exports": "./index.mjs"}')
        assert kernel.run("import later from 'later'; later").text == "'later'"


def test_files_that_changed_are_read_again(kernel, workspace):
    write(workspace, "again/leaf.mjs", "export const v = 1")
    write(workspace, "again/same.mjs", "export const made = {}")
    write(workspace, "again/tree.mjs", "export { v } from './leaf.mjs'; export { made } from './same.mjs'; export const url = import.meta.url")
    read = "import { v, made, url } from './again/tree.mjs'; v"
    assert kernel.run(read).text == "1"
    assert kernel.run(f"const before = made; {read}").text == "1"
    write(workspace, "again/leaf.mjs", "export const v = 2; export const w = 3")
    assert kernel.run(read).text == "2"  # also if another module imports it
    assert kernel.run("(await import('./again/leaf.mjs')).w").text == "3"
    assert kernel.run("made === before && require('url').fileURLToPath(url)").text == f"'{workspace}/again/tree.mjs'"  # unchanged files are not
    write(workspace, "again/leaf.mjs", "export const v = 3; throw new Error('at the top')")
    assert f"{workspace}/again/leaf.mjs:1:27" in kernel.run("import './again/leaf.mjs'").error["traceback"]
    write(workspace, "again/common.js", "exports.v = 1")
    assert kernel.run("(await import('./again/common.js')).v").text == "1"
    write(workspace, "again/common.js", "exports.v = 22")
    assert kernel.run("(await import('./again/common.js')).v").text == "22"


def test_a_module_is_loaded_once_while_it_does_not_change(kernel, workspace):
    write(workspace, "once.mjs", "export const made = {}")
    kernel.run("const first = (await import('./once.mjs')).made")
    assert kernel.run("(await import('./once.mjs')).made === first").text == "true"


def test_scripts_find_what_cells_find(start, tmp_path):
    write(tmp_path, "deps/node_modules/dep/index.js", "module.exports = 'dep'")
    write(tmp_path, "work/script.mjs", "import dep from 'dep'; import './local.mjs'; console.log(dep)")
    write(tmp_path, "work/local.mjs", "console.log((await import('dep')).default)")
    write(tmp_path, "work/lost.mjs", "import 'no-such-package'")
    with start(tmp_path, NODE_PATH=str(tmp_path / "deps/node_modules")) as kernel:
        run = "require('child_process').execSync(`${process.execPath} work/%s 2>&1 || true`).toString()"
        assert kernel.run(run % "script.mjs").text == r"'dep\ndep\n'"
        assert "Cannot find package 'no-such-package' imported from" in kernel.run(run % "lost.mjs").text


def test_relative_names_count_from_the_working_directory(kernel, workspace):
    write(workspace, "sub/inner.js", "module.exports = 'inner'")
    write(workspace, "sub/inner.mjs", "export default 'inner'")
    assert kernel.run("process.chdir('sub'); require('./inner') + (await import('./inner.mjs')).default").text == "'innerinner'"
    kernel.run(f"process.chdir({json.dumps(str(workspace))})")


def test_exports_and_import_meta_of_pasted_modules(kernel, workspace):
    code = "export const width = 2; export default function area() { return width ** 2 }; export { area }\nexport class Q {}"
    assert kernel.run(code).error is None
    assert kernel.run("area() + new Q().constructor.name").text == "'4Q'"
    assert kernel.run("import.meta.dirname").text == f"'{workspace}'"


# TypeScript


def test_typescript_cells_and_files(kernel, workspace):
    assert kernel.run("interface P { x: number }\nconst p: P = { x: await Promise.resolve(2) as number };\np.x satisfies 2").text == "2"
    code = "import type { Stats } from 'fs'; import { statSync } from 'fs'\nfunction f<T>(x: T): T { return x }\nf<string>('t')"
    assert kernel.run(code).text == "'t'"
    assert kernel.run("enum Color { Red, Green }\nclass C { constructor(public a: Color) {} }\nnew C(Color.Green)").text == "C { a: 1 }"
    assert kernel.run("const q: number = 1\nthrow new Error('x')").error["traceback"].endswith(":2:7")
    write(workspace, "typed.ts", "export const typed: string = 'typed'")
    assert kernel.run("(await import('./typed.ts')).typed").text == "'typed'"


# Errors


@pytest.mark.parametrize("code, type, message, traceback", [
    ("throw new RangeError('x')", "RangeError", "x", "RangeError: x\n    at <cell N>:1:7"),
    ("const a1 = await 1; null.x", "TypeError", "Cannot read properties of null (reading 'x')",
     "TypeError: Cannot read properties of null (reading 'x')\n    at <cell N>:1:26"),
    ("missing", "ReferenceError", "missing is not defined", "ReferenceError: missing is not defined\n    at <cell N>:1:1"),
    ("function f() {\n  throw new Error('in f')\n}\nf()", "Error", "in f", "Error: in f\n    at f (<cell N>:2:9)\n    at <cell N>:4:1"),
    ("async function g() { await null; throw new Error('g') }\nawait g()", "Error", "g",
     "Error: g\n    at g (<cell N>:1:40)\n    at async <cell N>:2:1"),
    ("class Special extends Error {}; throw new Special('s')", "Special", "s", None),
    ("throw new Error('outer', { cause: new Error('inner') })", "Error", "outer",
     "Error: outer\n    at <cell N>:1:7 {\n  [cause]: Error: inner\n      at <cell N>:1:35\n}"),
    ("await Promise.any([Promise.reject(new Error('one'))])", "AggregateError", "All promises were rejected",
     "[AggregateError: All promises were rejected] {\n  [errors]: [\n    Error: one\n        at <cell N>:1:35\n  ]\n}"),
    ("throw 'text'", "Thrown", "'text'", "Uncaught 'text'"),
    ("throw undefined", "Thrown", "undefined", "Uncaught undefined"),
    ("Promise.reject(new Error('rejected'))", "Error", "rejected", "Error: rejected\n    at <cell N>:1:16"),
    ("(function deep() { deep() })()", "RangeError", "Maximum call stack size exceeded", None),
    ("throw new Proxy(new Error('p'), { get() { throw new Error('trap') } })", "Thrown", None, None),
])
def test_errors(kernel, code, type, message, traceback):
    outcome = kernel.run(code)
    error = outcome.error
    assert (error["type"], error["message"]) == (type, message or error["message"])
    assert traceback in (None, traceback_of(outcome))
    assert "husk" not in error["traceback"] and "node:inspector" not in error["traceback"] and outcome.stderr == ""


@pytest.mark.parametrize("code, line, source, caret, message", [
    ("let ok = 1\nlet x = ;", 2, "let x = ;", 8, "Unexpected token ';'"),
    ("foo(1", 1, "foo(1", 4, "missing ) after argument list"),
    ("const y = await 1\nlet z = await 2, z = 3", 2, "let z = await 2, z = 3", 17, "Identifier 'z' has already been declared"),
    ("return 5", 1, "return 5", 0, "Illegal return statement"),
    ("class P { #x = 1 }\nnew P().#x", 2, "new P().#x", 8, "Private field '#x' must be declared in an enclosing class"),
    ("({}).#x = 2", 1, "({}).#x = 2", 5, "Private field '#x' must be declared in an enclosing class"),
])
def test_syntax_errors_say_where(kernel, code, line, source, caret, message):
    outcome = kernel.run(code)
    assert outcome.error["type"] == "SyntaxError" and outcome.error["message"] == message
    assert traceback_of(outcome) == f"<cell N>:{line}\n{source}\n{' ' * caret}^\n\nSyntaxError: {message}"


def test_errors_of_modules_show_their_file(kernel, workspace):
    write(workspace, "fails.js", "\nthrow new Error('from a file')")
    assert f"at Object.<anonymous> ({workspace}/fails.js:2:7)" in kernel.run("require('./fails')").error["traceback"]
    write(workspace, "broken.js", "let = = 5")
    assert f"{workspace}/broken.js:1" in kernel.run("require('./broken')").error["traceback"]


CLIENT = """
class HttpError extends Error {}
exports.fetch = async () => { await null; return one() }
const one = () => two(), two = () => three(), three = () => four(), four = () => {
  const socket = Object.fromEntries(Array.from({ length: 300 }, (_, i) => ["field" + i, { value: i }]))
  throw Object.assign(new HttpError("status 404"), { code: "E404", request: { socket }, response: { status: 404, data: { why: "no such thing" }, socket } })
}"""


def test_errors_of_packages_are_short(kernel, workspace):
    write(workspace, "node_modules/http-client/index.js", CLIENT)
    error = kernel.run("await require('http-client').fetch()").error
    assert error["type"] == "HttpError" and len(error["traceback"]) < 900
    assert "code: 'E404'" in error["traceback"] and "request: [Object]" in error["traceback"]
    assert "response: { status: 404, data: { why: 'no such thing' } }" in error["traceback"]
    frames = [line.split()[:2] for line in error["traceback"].splitlines() if line.startswith("    ")]
    assert [words[-1] for words in frames if words[0] == "at"] == ["four", "exports.fetch", "async"] and ["[...", "3"] in frames
    assert kernel.run("_error.request.socket.field299").text == "{ value: 299 }"
    assert kernel.run("_error.stack.includes('at two ')").text == "true"


def test_own_properties_of_short_errors_are_shown(kernel):
    assert "details: { a: [ 1, [Array] ] }" in kernel.run("throw Object.assign(new Error('x'), { details: { a: [1, [[2]]] } })").error["traceback"]


def test_the_test_runner_shows_no_frames_of_the_kernel(fresh_kernel):
    for _ in range(2):  # the first cell starts the runner
        outcome = fresh_kernel.run("import { test } from 'node:test'; await test('fails', () => { throw new Error('here') })\nawait 1")
        assert "error: 'here'" in outcome.stdout and "(<cell " in outcome.stdout and "location: '<cell " in outcome.stdout
        assert "husk" not in outcome.stdout and "node:inspector" not in outcome.stdout and "<cell-" not in outcome.stdout


def test_long_errors_are_cut_in_the_middle(kernel):
    error = kernel.run("throw new Error('x'.repeat(1e6))").error
    assert len(error["message"]) < 20_000 and len(error["traceback"]) < 40_000 and "left out" in error["traceback"]


def test_unhandled_rejections_are_the_cells_error(kernel):
    outcome = kernel.run("Promise.reject(new Error('nobody cares')); 5")
    assert outcome.text == "5" and traceback_of(outcome) == "Error: nobody cares\n    at <cell N>:1:16"
    outcome = kernel.run("setTimeout(() => { throw new Error('late') }, 1); await new Promise(r => setTimeout(r, 20)); 6")
    assert outcome.text == "6" and outcome.error["message"] == "late"
    assert "a value" in kernel.run("Promise.reject('a value'); 0").error["message"]


LATE_ERROR = """function fails() { clearInterval(watch); throw new Error('much later') }
const watch = setInterval(() => { if (fs.existsSync('go')) fails() }, 1)"""


def test_later_errors_are_on_stderr_of_the_next_cell_and_not_fatal(fresh_kernel, tmp_path):
    between = fresh_kernel.run(LATE_ERROR)
    write(tmp_path, "go", "")
    fresh_kernel.wait_output("much later")
    assert between.stderr.startswith("Uncaught Error: much later\n    at fails (<cell 1>:1:") and between.error is None
    (tmp_path / "go").unlink()
    fresh_kernel.run(LATE_ERROR)
    outcome = fresh_kernel.run("fs.writeFileSync('go', ''); await new Promise(r => setTimeout(r, 50)); 'goes on'")
    assert outcome.text == "'goes on'" and outcome.error is None
    assert outcome.stderr.startswith("Uncaught Error: much later\n    at fails (<cell 2>:1:")


def test_listeners_of_the_user_are_called_first(kernel):
    kernel.run("process.removeAllListeners('uncaughtException'); process.once('uncaughtException', e => console.log('mine:', e.message))")
    outcome = kernel.run("setTimeout(() => { throw new Error('x') }, 1); await new Promise(r => setTimeout(r, 20))")
    assert outcome.stdout == "mine: x\n" and outcome.error is None
    assert kernel.run("setTimeout(() => { throw new Error('y') }, 1); await new Promise(r => setTimeout(r, 20))").error["message"] == "y"


def test_listeners_that_throw_are_not_fatal(fresh_kernel):
    waits = "await new Promise(r => setTimeout(r, 20)); 'goes on'"
    fresh_kernel.run("process.on('uncaughtException', () => { throw new Error('in a listener') })")
    outcome = fresh_kernel.run(f"setTimeout(() => {{ throw new Error('x') }}, 1); {waits}")
    assert outcome.text == "'goes on'" and "Uncaught Error: in a listener" in outcome.stderr
    fresh_kernel.run("process.removeAllListeners(); process.on('unhandledRejection', () => { throw new Error('in another') })")
    outcome = fresh_kernel.run(f"Promise.reject(1); {waits}")
    assert outcome.text == "'goes on'" and "Uncaught Error: in another" in outcome.stderr


def test_signal_listeners_work_also_after_all_were_removed(fresh_kernel):
    fresh_kernel.run("process.removeAllListeners()")
    code = "await new Promise(r => { process.on('SIGTERM', r); process.kill(process.pid, 'SIGTERM') })"
    assert clean(fresh_kernel.run(code)) == "'SIGTERM'"


@pytest.mark.parametrize("code, says, status", [
    ("process.exit(3)", "process.exit(3)", 3),
    ("process.exit('3')", "process.exit(3)", 3),
    ("process.exit(-1)", "process.exit(-1)", 255),
    ("process.exitCode = 4; process.exit()", "process.exit(4)", 4),
    ("process.reallyExit(1)", "process.exit(1)", 1),
    ("process.abort()", "process.abort()", 134),
    ("process.kill(process.pid)", 'process.kill(PID, "SIGTERM")', 143),
    ("process.kill(process.pid, 'SIGKILL')", 'process.kill(PID, "SIGKILL")', 137),
    ("process.kill(0, 9)", 'process.kill(0, "SIGKILL")', 137),
    ("await 1; process.exit(0)", "process.exit(0)", 0),
    ("setTimeout(() => process.exit(5), 1); await new Promise(() => {})", "process.exit(5)", 5),
    ("await new Promise(() => setImmediate(() => process.exit(6)))", "process.exit(6)", 6),
    ("require('node:process').exit(7)", "process.exit(7)", 7),
])
def test_process_exit_ends_only_the_cell(kernel, code, says, status):
    outcome = kernel.run(f"let alive = 'alive'; {code}; console.log('not reached')")
    assert outcome.error["exit_code"] == status
    assert outcome.error["type"] == "ProcessExit" and says.replace("PID", str(kernel.process.pid)) in outcome.error["message"]
    assert "<cell " in outcome.error["traceback"] and outcome.stdout == "" and outcome.text is None
    assert kernel.run("process.exitCode = undefined; alive").text == "'alive'"


def test_exit_cannot_be_caught_and_has_no_effect_between_cells(kernel):
    assert kernel.run("try { process.exit(1) } catch { console.log('caught') } finally { console.log('finally') }").stdout == ""
    kernel.run("setTimeout(() => process.exit(9), 1)")
    kernel.run("await new Promise(r => setTimeout(r, 20))")
    assert kernel.run("alive").text == "'alive'"


# Environment variables of a run


def test_environment_of_one_run(kernel):
    read = "[process.env.CALL_A, process.env.CALL_B, child_process.execSync('echo $CALL_A').toString()]"
    kernel.run("process.env.CALL_A = 'before'; delete process.env.CALL_B")
    assert kernel.run(read, env={"CALL_A": "one", "CALL_B": "two words"}).text == r"[ 'one', 'two words', 'one\n' ]"
    assert kernel.run(read).text == r"[ 'before', undefined, 'before\n' ]"
    kernel.run("throw new Error('x')", env={"CALL_A": "one"})
    kernel.run("process.exit(1)", env={"CALL_B": "two"})
    kernel.run("let = =", env={"CALL_B": "two"})
    assert kernel.run(read).text == r"[ 'before', undefined, 'before\n' ]"
    kernel.run("process.env.CALL_A = 'mine'; delete process.env.CALL_B", env={"CALL_A": "one", "CALL_B": "two"})
    assert kernel.run(read).text == r"[ 'mine', undefined, 'mine\n' ]"


# Displays


@pytest.mark.parametrize("code, data", [
    ("display('<b>x</b>')", {"text/html": "<b>x</b>"}),
    ("display({ html: '<i>', svg: '<svg/>', markdown: '# x' })", {"text/html": "<i>", "image/svg+xml": "<svg/>", "text/markdown": "# x"}),
    ("display({ json: { a: [1, undefined], d: new Date(0) } })", {"application/json": {"a": [1, None], "d": "1970-01-01T00:00:00.000Z"}}),
    ("display({ image: png })", {"image/png": "PNG"}),
    ("display({ image: 'data:image/png;base64,' + png.toString('base64') })", {"image/png": "PNG"}),
    ("display(png)", {"image/png": "PNG"}),
    ("display({ image: png, mimeType: 'image/jpeg' })", {"image/jpeg": "PNG"}),
    ("display({ audio: Buffer.from('x') })", {"audio/wav": "eA=="}),
    ("display({ audio: 'eA', mimeType: 'audio/mpeg' })", {"audio/mpeg": "eA=="}),
    ("display({ type: 'application/pdf', data: new Uint8Array([1]) })", {"application/pdf": "AQ=="}),
    ("display({ 'text/html': '<p>', 'text/plain': 'p' })", {"text/html": "<p>", "text/plain": "p"}),
    ("display({ a: 1 })", {"text/plain": "{ a: 1 }", "application/json": {"a": 1}}),
    ("display(new Map())", {"text/plain": "Map(0) {}"}),
    ("display({ [Symbol.for('Jupyter.display')]: () => ({ 'text/html': 'rich' }) })", {"text/html": "rich"}),
])
def test_display(kernel, code, data):
    png = base64.b64encode(PNG).decode()
    outcome = kernel.run(f"const png = Buffer.from('{png}', 'base64'); {code}")
    assert outcome.error is None and outcome.text is None
    assert [d["data"] for d in outcome.displays] == [{mime: png if value == "PNG" else value for mime, value in data.items()}]


@pytest.mark.parametrize("code", [
    "display({ image: 'not base64!' })", "display({ type: 'no/ type', data: 'x' })", "display({ json: 10n })", "display({ image: 5 })",
    "const ring = {}; ring.ring = ring; display({ json: ring })",
])
def test_bad_displays_are_the_cells_error(kernel, code):
    outcome = kernel.run(code)
    assert outcome.error["type"] == "TypeError" and not outcome.displays
    assert outcome.error["traceback"].count("<cell ") == 1


def test_a_large_picture_and_its_other_forms_are_complete(kernel):
    beside = {"text/plain": 'a "quoted"\n\u00e9', "application/json": {"a": [1]}}
    code = f"display({{ 'image/png': Buffer.alloc(3e6, 'x'), ...{json.dumps(beside)} }}, {{ display_id: 'big' }})"
    [shown] = kernel.run(code).displays
    assert base64.b64decode(shown["data"].pop("image/png")) == b"x" * 3_000_000
    assert (shown["data"], shown["display_id"]) == (beside, "big")


def test_display_ids_late_displays_and_large_ones(kernel):
    shown = kernel.run("display('a', { display_id: 'one' }); display('b', { display_id: 'one', update: true })").displays
    assert [(d.get("display_id"), d.get("update")) for d in shown] == [("one", None), ("one", True)]
    first = kernel.run("setTimeout(() => { display('late'); console.log('shown') }, 5)")
    kernel.wait_output("shown")
    assert [d["data"] for d in first.displays + kernel.run("0").displays] == [{"text/html": "late"}]
    assert "12 MiB" in kernel.run("display({ html: 'x'.repeat(13e6) })").displays[0]["data"]["text/plain"]
