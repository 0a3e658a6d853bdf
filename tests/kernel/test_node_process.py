"""The Node kernel over its link: streams, interrupts, child processes, memory. Each test states one fact."""

import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from node_binary import ROOT, node, write  # noqa: F401

RUNTIME = "node"


# Streams


def test_console_prints_like_node(kernel):
    code = """console.log('%s is %d', 'x', 5, { a: 1 }); console.info('info'); console.debug('debug'); console.dir([[[]]], { depth: 0 })
console.table([{ a: 1, b: 2 }]); console.group('G'); console.log('in'); console.groupEnd(); console.count(); console.count()
console.error('error'); console.warn('warn'); console.assert(false, 'no'); console.trace('here')"""
    outcome = kernel.run(code)
    assert outcome.stdout == """x is 5 { a: 1 }
info
debug
[ [Array] ]
┌─────────┬───┬───┐
│ (index) │ a │ b │
├─────────┼───┼───┤
│ 0       │ 1 │ 2 │
└─────────┴───┴───┘
G
  in
default: 1
default: 2
"""
    assert re.sub(r"<cell \d+>", "<cell N>", outcome.stderr) == "error\nwarn\nAssertion failed: no\nTrace: here\n    at <cell N>:3:84\n"
    assert "ms\n" in kernel.run("console.time('t'); console.timeLog('t', 1); console.timeEnd('t')").stdout


def test_prints_and_displays_keep_their_order(kernel):
    """The order is kept for a slow reader too, although two pipes and a link have no common order."""
    got = kernel.run("for (let i = 0; i < 50; i++) { console.log('out', i); console.error('err', i); display({ text: String(i) }); }")
    expected = [event for i in range(50) for event in (("stdout", f"out {i}\n"), ("stderr", f"err {i}\n"), ("display", str(i)))]
    found = [(kind, what["data"]["text/plain"] if kind == "display" else what.decode()) for kind, what in got.log if kind != "result"]
    assert found == expected


def test_order_with_child_processes_and_displays_is_exact(kernel):
    code = """for (let i = 0; i < 3; i++) {
console.log('a', i); child_process.spawnSync('echo', ['b', i], { stdio: 'inherit' })
process.stdout.write('c\\n'); display({ text: `d${i}` }) }"""
    outcome = kernel.run(code)
    assert outcome.stdout == "".join(f"a {i}\nb {i}\nc\n" for i in range(3))
    for i, display in enumerate(outcome.displays):
        before = b"".join(what for kind, what in outcome.log[: outcome.log.index(("display", display))] if kind == "stdout")
        assert display["data"] == {"text/plain": f"d{i}"} and before.count(b"c\n") > i


@pytest.mark.parametrize("code", ["for (let i = 0; i < 3; i++) { child_process.spawnSync('true'); display({ text: 'd' }) }; 1",
                                  "for (let i = 0; i < 20; i++) child_process.execSync('true'); 1"])
def test_programs_in_the_first_cell(fresh_kernel, code):
    """The watcher does not start in the middle of the cell, where V8 would abort."""
    assert fresh_kernel.run(code).text == "1"


def test_an_interrupt_of_the_first_cell(fresh_kernel):
    outcome = fresh_kernel.run_interrupted("console.log('go'); while (true) display('x'.repeat(100_000))")
    assert outcome.error["type"] == "Interrupted"


def test_big_output_and_binary_junk(kernel):
    code = "process.stdout.write('x'.repeat(5e6)); process.stdout.write(Buffer.from([0xff, 0, 0xfe]));"
    outcome = kernel.run(f"{code} for (let i = 0; i < 1e5; i++) console.log(i)")
    data = b"".join(what for kind, what in outcome.log)
    assert len(data) == 5_000_003 + sum(len(str(i)) + 1 for i in range(100_000)) and data[5_000_000:5_000_003] == b"\xff\0\xfe"


def test_output_that_is_not_awaited_comes_with_the_next_cell(kernel):
    first = kernel.run("setTimeout(() => console.log('later'), 20)")
    second = kernel.run("await new Promise(r => setTimeout(r, 40))")
    assert first.stdout + second.stdout == "later\n"


def test_streams_survive_changes_by_a_cell(kernel):
    kernel.run("process.stdout.end('bye\\n'); process.stderr.destroy()")
    outcome = kernel.run("console.log('out'); console.error('err')")
    assert (outcome.stdout, outcome.stderr) == ("out\n", "err\n")


def test_a_redirection_lasts_as_long_as_its_cell(kernel):
    code = "let caught = ''; process.stdout.write = text => { caught += text }; console.log('caught'); process.stderr.write = null; caught"
    assert kernel.run(code).text == "'caught\\n'"
    outcome = kernel.run("console.log('out'); console.error('err')")
    assert (outcome.stdout, outcome.stderr) == ("out\n", "err\n")


def test_descriptors_that_a_cell_closes_are_reopened(fresh_kernel):
    fresh_kernel.run("for (const fd of [0, 1, 2]) require('fs').closeSync(fd); require('fs').openSync('/dev/null')")
    code = "child_process.spawnSync('sh', ['-c', 'echo child; echo err >&2; cat'], { stdio: 'inherit' })"
    outcome = fresh_kernel.run(f"console.log('out'); {code}; 1")
    assert (outcome.stdout, outcome.stderr, outcome.text) == ("out\nchild\n", "err\n", "1")


def test_stream_callbacks_and_pipes(kernel):
    code = """await new Promise(r => process.stdout.write('written\\n', r))
await require('stream/promises').pipeline(require('stream').Readable.from(['piped\\n']), process.stdout)
require('stream').Readable.from(['piped too\\n']).pipe(process.stdout); await new Promise(r => setImmediate(r))"""
    outcome = kernel.run(code)
    assert outcome.error is None and outcome.stdout == "written\npiped\npiped too\n"


def test_without_interactive_stdin_is_empty_and_prompts_fail(kernel):
    assert kernel.run("let got = ''; for await (const c of process.stdin) got += c; got").text == "''"
    code = "const rl = readline.createInterface({ input: process.stdin }); await new Promise(r => rl.question('name? ', r))"
    assert "nobody can answer" in kernel.run(code).error["message"]
    code = "const rp = require('readline/promises').createInterface({ input: process.stdin }); await rp.question('?')"
    assert "nobody can answer" in kernel.run(code).error["message"]
    assert kernel.run("require('fs').readFileSync(0, 'utf8')").text == "''"
    assert kernel.run("prompt('?')").error["type"] == "ReferenceError"


# Answers


RL = "const rl = require('readline/promises').createInterface({ input: process.stdin, output: process.stdout });"


def test_prompts_are_answered(kernel):
    outcome, prompts = kernel.run_answered(RL + "const n = await rl.question('Name? '); console.log('hi', n); n + await rl.question('Age? ')",
                                           "Bob", "7")
    assert prompts == ["Name? ", "Age? "] and outcome.stdout == "hi Bob\n" and outcome.text == "'Bob7'"


def test_an_open_readline_interface_makes_no_more_prompts(fresh_kernel):
    fresh_kernel.run("const { Interface } = require('readline/promises')")
    outcome, prompts = fresh_kernel.run_answered("const own = new Interface({ input: process.stdin }); await own.question('Name? ')", "Bob")
    assert prompts == ["Name? "] and outcome.text == "'Bob'"


def test_a_cell_waits_for_the_answers_to_its_callbacks(kernel):
    code = """import readline from 'node:readline'
const cb = readline.createInterface({ input: process.stdin })
cb.question('One? ', a => cb.question('Two? ', b => { console.log(a, b); cb.close() }))"""
    outcome, prompts = kernel.run_answered(code, "1", "2")
    assert prompts == ["One? ", "Two? "] and outcome.stdout == "1 2\n"


def test_stdin_is_read_in_lines_and_to_its_end(kernel):
    code = "const lines = []; for await (const l of require('readline').createInterface({ input: process.stdin })) lines.push(l); lines"
    outcome, prompts = kernel.run_answered(code, "a\nb", "c", "\x04")
    assert outcome.text == "[ 'a', 'b', 'c' ]" and prompts == ["", "", ""]
    outcome, _ = kernel.run_answered("let all = ''; for await (const c of process.stdin) all += c; all", "x", "y\n\x04")
    assert outcome.text == "'x\\ny\\n'"
    assert kernel.run("let got = ''; for await (const c of process.stdin) got += c; got").text == "''"


def test_prompts_can_be_aborted_and_interrupted(kernel):
    code = RL.replace("rl", "ra") + "const c = new AbortController(); setTimeout(() => c.abort(), 20);" \
        "try { await ra.question('?', { signal: c.signal }) } catch (e) { console.log(e.name) }; ra.close()"
    outcome, _ = kernel.run_answered(code)
    assert outcome.stdout.strip() == "AbortError"
    kernel.begin(RL.replace("rl", "ri") + "await ri.question('?')", interactive=True)
    kernel.wait_prompt()
    kernel.interrupt()
    assert kernel.finish().error["type"] == "Interrupted"
    assert "nobody can answer" in kernel.run("await ri.question('?')").error["message"]


# Interrupts


ENDLESS = [
    "console.log('go'); while (true);",
    "console.log('go'); const f = () => Promise.resolve().then(f); f(); 1",
    "console.log('go'); while (true) await null",
    "async function spin() { while (true) await null }; console.log('go'); await spin()",
    "console.log('go'); process.nextTick(function t() { process.nextTick(t) }); await new Promise(() => {})",
    "process.nextTick(() => { console.log('go'); while (true); }); 1",
    "setTimeout(() => { console.log('go'); while (true); }, 1); await new Promise(() => {})",
    "for (let i = 0; i < 5; i++) setImmediate(() => { console.log('go'); while (true); }); await new Promise(() => {})",
    "setImmediate(() => {}); setImmediate(() => { console.log('go'); while (true); }); await new Promise(() => {})",
    "console.log('go'); await new Promise(() => {})",
    "console.log('go'); new Promise(() => {})",
    "console.log('go'); setTimeout(() => {}, 1e6); await new Promise(r => setTimeout(r, 1e6))",
    "console.log('go'); while (true) console.error('x'.repeat(100))",
    "console.log('go'); while (true) display('x'.repeat(100_000))",
    "console.log('go'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
    "console.log('go'); child_process.execSync('sleep 100')",
    "console.log('go'); /(a+)+$/.test('a'.repeat(50) + 'b')",
    "console.log('go'); try { while (true); } catch { console.log('caught') } finally { console.log('finally') }",
    "console.log('go'); while (true) try { JSON.parse('{') } catch {}",
    "console.log('go'); ({ [util.inspect.custom]() { while (true); } })",
    "console.log('go'); for await (const x of (async function* () { for (;;) yield timers.promises.setTimeout(1) })());",
    "console.log('go'); require('vm').runInNewContext('while (true);', {}, { breakOnSigint: true })",
    "console.log('go'); while (true) require('fs').readFileSync('/proc/self/status')",
]


@pytest.mark.parametrize("code", ENDLESS)
def test_interrupts_keep_the_state(kernel, code):
    kernel.run("let kept = { n: 42 }")
    outcome = kernel.run_interrupted(code)
    assert (outcome.error["type"], outcome.error["message"]) == ("Interrupted", "Execution was interrupted"), outcome
    assert "caught" not in outcome.stdout and "finally" not in outcome.stdout and outcome.text is None
    assert kernel.run("kept.n").text == "42"
    assert kernel.run("console.log('still'); await new Promise(r => setTimeout(r, 1)); 7").stdout == "still\n"


@pytest.mark.parametrize("code", ["process.exit(3)", "console.log('go'); while (true);"])
def test_ending_a_cell_keeps_the_timers_of_others(fresh_kernel, code):
    fresh_kernel.run("var turns = 0; (function turn() { turns++; setImmediate(turn) })()")
    code = f"process.nextTick(() => console.log('tick')); Promise.resolve().then(() => console.log('task')); {code}"
    outcome = fresh_kernel.run(code) if "exit" in code else fresh_kernel.run_interrupted(code)
    assert outcome.error["type"] in ("ProcessExit", "Interrupted") and outcome.stdout.endswith("tick\ntask\n")
    assert fresh_kernel.run("var before = turns; await new Promise(r => setTimeout(r, 5)); turns > before").text == "true"


def test_a_constructor_can_end_the_cell(fresh_kernel):
    """Like a getter, a constructor can run code without a visible call."""
    fresh_kernel.run("class Leaves { constructor() { process.exit(1) } }; n = 0; setImmediate(function turn() { n++; setImmediate(turn) }); 1")
    assert fresh_kernel.run("new Leaves").error["type"] == "ProcessExit"
    assert fresh_kernel.run("var before = n; await new Promise(r => setTimeout(r, 5)); n > before").text == "true"


@pytest.mark.parametrize("before", ["setImmediate(() => {})", "setImmediate(() => { throw 1 })", "setImmediate(() => clearImmediate(next))"])
def test_a_cell_may_end_behind_another_immediate(kernel, before):
    """Node returns to the immediate that was running."""
    code = f"{before}; var next = setImmediate(() => {{}}); setImmediate(() => process.exit(1)); setImmediate(() => {{}}); new Promise(() => {{}})"
    assert kernel.run(code).error["type"] == "ProcessExit"
    assert kernel.run("await new Promise(r => setImmediate(r)); 1").text == "1"


def test_a_cell_may_end_in_its_last_immediate(fresh_kernel):
    code = "setImmediate(() => {}); setImmediate(() => process.exit(1)); new Promise(() => {})"
    assert fresh_kernel.run(code).error["type"] == "ProcessExit"
    assert fresh_kernel.run("1 + 1").text == "2"


def test_a_second_interrupt_does_not_undo_the_first(kernel):
    """Both interrupts came while they could not be noticed, so the second is handled right after the first has ended
    the cell.
    """
    kernel.run("child_process.execFileSync('mkfifo', ['full']); var full = fs.openSync('full', 'r+'), byte = Buffer.alloc(1)")
    child = "kill -INT $PPID; sleep 0.03; kill -INT $PPID; sleep 0.03; echo >full"
    for _ in range(8):
        outcome = kernel.run(f"child_process.spawn('sh', ['-c', '{child}']); fs.readSync(full, byte); while (true);")
        assert outcome.error["type"] == "Interrupted"


def test_a_cell_that_ended_in_a_message_can_be_followed_by_an_interrupt(fresh_kernel):
    """The cell calls process.exit() inside hold(), whose code is protected from interrupts. The next cell must not be
    protected.
    """
    code = "const { writeSync } = fs; fs.writeSync = () => { fs.writeSync = writeSync; process.exit(1) }; display('x')"
    assert fresh_kernel.run(code).error["type"] == "ProcessExit"
    assert fresh_kernel.run_interrupted("console.log('go'); while (true);").error["type"] == "Interrupted"


def test_interrupts_name_the_line(kernel):
    error = kernel.run_interrupted("function busy() {\n  for (let n = 0; ; n++) if (n === 1e6) console.log('go')\n}\nbusy()").error
    assert error["traceback"].startswith("Interrupted: Execution was interrupted\n    at ")
    assert "    at busy (<cell " in error["traceback"] and error["traceback"].endswith(">:4:1")


def test_an_interrupted_cell_does_not_continue(kernel):
    kernel.run_interrupted("var ticks = 0; console.log('go'); while (true) { await new Promise(r => setTimeout(r, 1)); ticks++ }")
    before = kernel.run("await new Promise(r => setTimeout(r, 5)); ticks").text
    assert kernel.run("await new Promise(r => setTimeout(r, 30)); ticks").text == before


MODULES = {
    "outer.mjs": "import './inner.mjs'; export const outer = 'loaded'",
    "inner.mjs": "import fs from 'fs'; if (!fs.existsSync('go')) { console.log('go'); while (true); }",
    "waits.mjs": "import fs from 'fs'; console.log('go'); while (!fs.existsSync('go')) await null; export const outer = 'loaded'",
    "common.js": "if (!require('fs').existsSync('go')) { console.log('go'); while (true); }; exports.outer = 'loaded'",
}


@pytest.mark.parametrize("load", ["await import('./outer.mjs')", "await import('./waits.mjs')", "require('./common')"])
def test_a_module_that_was_interrupted_can_be_loaded_again(fresh_kernel, tmp_path, load):
    for name, text in MODULES.items():
        write(tmp_path, name, text)
    for _ in range(2):
        error = fresh_kernel.run_interrupted(load).error
        assert error["type"] == "Interrupted" and "again" not in error["traceback"]
    write(tmp_path, "go", "")
    assert fresh_kernel.run(f"({load}).outer").text == "'loaded'"


BUILT_IN = {"http2": "connect", "repl": "start", "child_process": "execSync", "cluster": "fork", "https": "get", "dgram": "createSocket", "readline": "clearLine",
            "zlib": "gzip", "node:test": "test", "tls": "connect", "dns": "lookup", "crypto": "createHash", "node:sqlite": "DatabaseSync"}


def test_built_in_modules_are_never_left_half_loaded(fresh_kernel):
    fresh_kernel.run("console.log('the watcher is there')")
    for name, function in BUILT_IN.items():
        assert fresh_kernel.run_interrupted(f"console.log('go'); require('{name}'); while (true);").error["type"] == "Interrupted"
        assert fresh_kernel.run(f"typeof require('{name}').{function}").text == "'function'", name


def test_interrupts_between_cells_are_ignored(kernel):
    for n in range(50):
        kernel.interrupt()
        assert kernel.run(f"{n}").text == str(n)
    kernel.interrupt()
    assert kernel.run("await new Promise(r => setTimeout(r, 20)); 'fine'").text == "'fine'"


def test_an_interrupt_ends_code_that_runs_between_cells(kernel, workspace):
    kernel.run("var t = setInterval(() => { if (fs.existsSync('go')) { clearInterval(t); console.log('stuck'); while (true); } }, 1)")
    write(workspace, "go", "")
    kernel.wait_output("stuck")
    (workspace / "go").unlink()
    kernel.begin("'free'")
    kernel.interrupt()
    assert kernel.finish().text in ("'free'", None)
    assert kernel.run("1").text == "1"


def test_a_kernel_that_was_interrupted_idles(kernel):
    for code in ENDLESS[5:9]:
        kernel.run_interrupted(code)
    kernel.run("0")
    used = cpu_seconds(kernel)
    time.sleep(1)  # the test measures CPU time; a spinning event loop uses all of it
    assert cpu_seconds(kernel) - used < 0.5


def cpu_seconds(kernel):
    fields = Path(f"/proc/{kernel.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_awaiting_for_ever_survives_garbage_collection(kernel):
    kernel.run("v8.setFlagsFromString('--expose-gc'); var gc = vm.runInNewContext('gc')")
    code = "let rounds = 0; const t = setInterval(() => { gc(); if (++rounds === 3) { clearInterval(t); console.log('go') } }, 1);"
    never = "new Promise(() => {})"
    for waits in (f"await {never}", never, f"for await (const x of {{ [Symbol.asyncIterator]: () => ({{ next: () => {never} }}) }});"):
        assert kernel.run_interrupted(f"{code} {waits}").error["type"] == "Interrupted"
        assert kernel.run("gc(); 1").text == "1"


# Processes


def test_children_cannot_write_to_the_link(kernel, workspace):
    write(workspace, "child.js", "process.send(Object.keys(process.env).filter(k => /^HUSK_(LINK|TOKEN)/.test(k))); process.disconnect()")
    assert kernel.run("await new Promise(r => child_process.fork('./child.js').on('message', r))").text == "[]"
    fds = kernel.run("child_process.spawnSync('ls', ['-l', '/proc/self/fd'], { stdio: 'inherit' })").stdout
    assert "pipe" in fds and "socket" not in fds
    write(workspace, "worker.js", "console.log('in the worker'); require('worker_threads').parentPort.postMessage([1, 2])")
    outcome = kernel.run("new Promise(r => new (worker_threads.Worker)('./worker.js').on('message', r))")
    assert outcome.text == "[ 1, 2 ]"
    if "in the worker" not in outcome.stdout:
        kernel.wait_output("in the worker")
    code = "new Promise(r => new (worker_threads.Worker)('process.exit(3)', { eval: true }).on('exit', r))"
    assert kernel.run(code).text == "3"
    write(workspace, "cluster.js", "process.exit(11)")
    code = "cluster.setupPrimary({ exec: './cluster.js' }); await new Promise(r => cluster.fork().on('exit', r))"
    assert kernel.run(code).text == "11"


def test_the_end_of_the_link_is_the_end_of_the_kernel(fresh_kernel):
    fresh_kernel.run("process.on('exit', () => console.log('not at once')); setInterval(() => {}, 1000)")
    fresh_kernel.hang_up()
    assert fresh_kernel.wait_exit() == 0
    assert fresh_kernel.outcome.stderr == ""


def test_servers_and_clients_work_between_cells(kernel):
    code = "const server = require('http').createServer((q, s) => s.end(JSON.stringify({ url: q.url }))).listen(0, '127.0.0.1'); " \
           "await require('events').once(server, 'listening')"
    assert kernel.run(f"{code}; 1").text == "1"
    assert kernel.run("await (await fetch(`http://127.0.0.1:${server.address().port}/x`)).json()").text == "{ url: '/x' }"
    kernel.run("server.closeAllConnections(); server.close()")


def test_deleted_working_directory(fresh_kernel):
    fresh_kernel.run("fs.mkdirSync('gone'); process.chdir('gone'); fs.rmdirSync('../gone')")
    assert fresh_kernel.run("1 + require('os').EOL.length").text == "2"


def test_errors_and_results_do_not_keep_memory(fresh_kernel):
    fresh_kernel.run("class Big { data = new Uint8Array(1e6) }; var refs = []")
    for code in ("const b = new Big(); refs.push(new WeakRef(b)); return b", "const b = new Big(); refs.push(new WeakRef(b)); throw b",
                 "console.log(refs[refs.push(new WeakRef(new Big())) - 1].deref())"):
        fresh_kernel.run(f"(() => {{ {code} }})()")
    fresh_kernel.run("0")
    fresh_kernel.run("throw 0")  # `_` and `_error` hold the last value and error
    fresh_kernel.run("v8.setFlagsFromString('--expose-gc'); var gc = vm.runInNewContext('gc')")
    fresh_kernel.run("await new Promise(r => setTimeout(r, 10)); gc(); 0")
    code = "await new Promise(r => setTimeout(r, 10)); gc(); refs.map(r => r.deref() === undefined)"
    assert fresh_kernel.run(code).text == "[ true, true, true ]"


def test_a_programs_missing_package_is_reported_without_the_hook(node, tmp_path):  # noqa: F811
    """As without the hook, the report has the line of the program that needs the package."""
    for name, line, needle in (("a.cjs", "\n  require('nopkg')", "a.cjs:2:3"), ("b.mjs", "import 'nopkg'", "from " + str(tmp_path / "b.mjs"))):
        write(tmp_path, name, line)
        done = subprocess.run([node, "--require", str(ROOT / "runtimes/node/husk/preload.cjs"), tmp_path / name], capture_output=True, text=True,
                              env={**os.environ, "NODE_PATH": "/nowhere/node_modules"}, check=False)
        assert done.returncode == 1 and needle in done.stderr, done
        assert "'nopkg'" in done.stderr and "runtimes/node" not in done.stderr and "hook" not in done.stderr, done.stderr


# evidence: clean-restart
def test_options_of_the_session_do_not_run_code_before_the_kernel(start, tmp_path):
    told = tmp_path / "told"
    write(tmp_path, "tell.cjs", f"require('node:fs').appendFileSync({str(told)!r}, process.argv[1] ?? 'child')")
    with start(tmp_path, NODE_OPTIONS=f"--require={tmp_path}/tell.cjs", NODE_COMPILE_CACHE=str(tmp_path / "cache")) as kernel:
        assert kernel.run("40 + 2").text == "42" and not told.exists() and not (tmp_path / "cache").exists()
        assert kernel.run("Object.keys(process.env).filter((n) => n.startsWith('HUSK_LATE_')).length").text == "0"
        kernel.run("require('child_process').execFileSync(process.execPath, ['-e', '1'])")
        assert told.read_text() == "child"
