"""Node's column."""

from . import absent

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

COLUMN = {
    # values and state
    "state": dict(set="const kept = 41", get="kept + 1", value="42"),
    "last_value": dict(code="const x = [1, 'two']\nx", value="[ 1, 'two' ]"),
    "no_value": dict(code="let y = 5", comment="// nothing"),
    "definitions": dict(first="function f() { return 1 }\nconst C = 1", second="function f() { return 2 }\nconst C = 2", use="[f(), C]",
                        values=["[ 1, 1 ]", "[ 2, 2 ]"]),
    "unicode": dict(code="const größe = 'größe → 日本 🎈'\nconsole.log(größe)\nconsole.error(größe)\ngröße",
                    value="'größe → 日本 🎈'"),
    "line_ends": dict(code="\ufefflet n = 1\r\nif (n) {\r\n\tn = 2\r\n}\r\nn", value="2"),
    "long_source": dict(first="let total = 0", line="total += 1", get="total", value="5000"),
    "big_value": dict(code="'z'.repeat(5e6)"),
    "asynchronous": dict(code="const later = async () => 7\nconst soon = await later()\nif (soon !== 7) throw soon\nlater()", value="7"),
    "packages": dict(code="for (const name of require('module').builtinModules) require(name)\nchild_process.execSync('npm --version')"),
    "queued": dict(first="let count = 0\nawait new Promise((r) => setTimeout(r, 100))", second="count += 1\ncount", value="5"),
    # errors
    "error": dict(code="function inner() {\n  throw new RangeError('the cause')\n}\n\nfunction outer() {\n  inner()\n}\n\nouter()",
                  type="RangeError", message="the cause", line="at inner (<cell"),
    "work_before_an_error": dict(code="console.log('before')\nvar half = 'done'\nnull.x", get="half", value="'done'"),
    "syntax_error": dict(code="var unrun = 1\nprint(1 2)", type="SyntaxError", where=":2", get="unrun"),
    "broken_value": dict(code="({ [util.inspect.custom]() { throw new Error('no picture of me') } })", words="no picture of me"),
    "warning": dict(code="process.emitWarning('careful')\nawait new Promise(setImmediate)\n5", words="careful"),
    "recursion": dict(code="function f(n) { return f(n + 1) + 1 }\nf(0)", words="RangeError"),
    "huge_allocation": dict(code="new Uint8Array(1e13)", words="RangeError"),
    "keyboard": dict(code="require('fs').readFileSync(0, 'utf8')", words="''"),
    "asking": dict(code="console.log('before')\nconst asker = require('readline/promises').createInterface({ input: process.stdin })\n"
                        "const name = await asker.question('Name? ')\nasker.close()\nconsole.log('after')\nname",
                   prompt="Name? ", value="'Bob ü'"),
    "exit_call": dict(code="process.exit(4)", words="ProcessExit"),
    # time
    "endless_loop": dict(code="console.log('before')\nwhile (true);"),
    "endless_wait": dict(code="console.log('before')\nawait new Promise(() => {})"),
    "new_interpreter": dict(code="console.log('fresh')"),
    "variables": dict(code="const numbers = new Float64Array(1000)\nlet words = ['one', 'two']\nvar nothing = null",
                      variables={"numbers": ("Float64Array", "1000"), "words": ("Array", "2"), "nothing": ("null", None)}),
    "outliving": dict(code="console.log('before')\nawait new Promise(() => {})"),
    "endless_child": dict(code="console.log('before')\nrequire('child_process').execSync('sleep 100')\nwhile (true);"),
    "cancelled": dict(code="console.log('before')\nwhile (true);"),
    "deaf": dict(code="console.log('before')\nrequire('child_process').execSync('mkfifo pipe')\nrequire('fs').readFileSync('pipe')"),
    # output
    "streams": dict(code="console.log('out')\nconsole.error('err')"),
    "order": dict(code="console.log('one'); display({ a: 1 }); console.log('two'); 42"),
    "order_of_streams": dict(code="console.log('one'); console.error('two'); console.log('three')"),
    "progress_bar": dict(code="for (let i = 0; i <= 600; i++) process.stderr.write(`\\r${Math.floor(i / 6)}%|${'#'.repeat(i / 30)}|`)"),
    "cleared_output": absent("Node has no function that clears a cell's output; a display can be updated."),
    "updated_display": dict(code="display({ markdown: '0' }, { display_id: 'd' }); console.log('after');\n"
                                 "for (let i = 0; i < 300; i++) display({ markdown: String(i) }, { display_id: 'd', update: true })"),
    "labels": dict(code="console.log('\\u27e6note\\u27e7 all is well \\u202e'); console.log('\\u27e6note\\u27e7')"),
    "full_text": dict(code="for (let i = 0; i < 5000; i++) console.log('line', i)"),
    "child_output": dict(code="console.log('one')\nrequire('child_process').execSync('echo child; echo \"child\\'s error\" >&2', "
                              "{ stdio: 'inherit' })\nconsole.log('two')"),
    "long_line": dict(code="console.log('z'.repeat(1e7))"),
    "many_lines": dict(code="for (let i = 0; i < 1e5; i++) console.log('line', i)"),
    "junk": dict(code="void process.stdout.write(Buffer.from([...Array(256).keys()]))"),
    "nul_bytes": dict(code="console.log('a\\0\\0b')"),
    "ansi": dict(code="console.log('\\x1b[31mred\\x1b[0m')"),
    "late_child": dict(code="const wait = 'until [ -e go ]; do sleep 0.02; done; echo late; touch went'\n"
                            "void require('child_process').spawn('sh', ['-c', wait], { stdio: 'inherit' })"),
    "late_output": dict(code="const gate = setInterval(() => {\n  if (!fs.existsSync('go')) return\n  clearInterval(gate)\n"
                             "  console.log('late')\n  globalThis.opened = true\n}, 10)",
                        until="while (!globalThis.opened) await new Promise((r) => setTimeout(r, 5))"),
    "closed_streams": dict(code="fs.closeSync(1)\nfs.closeSync(2)"),
    "redirected_streams": dict(code="process.stdout.write = () => true\nprocess.stderr.write = () => true"),
    # displays
    "image": dict(code=f"display(Buffer.from('{PNG}', 'base64'))"),
    "order_of_figures": absent("Node has no plotting of its own; display() shows a library's picture, as in the row `image`."),
    "figure": absent("Node has no plotting of its own; display() shows a library's picture, as in the row `image`."),
    "html": dict(code="display({ html: '<b>bold</b>' })"),
    "json": dict(code="display({ json: { a: [1, 2] } })"),
    "display_before_an_error": dict(code="display({ html: '<b>bold</b>' })\nnull.x"),
    "big_html": dict(code="display({ html: 'h'.repeat(3e6) })"),
    "table": absent("JavaScript has no data frames: console.table() prints text, and an array of rows comes as text and JSON."),
    # processes and memory
    "memory_bomb": dict(code="const hog = []\nwhile (true) hog.push(Buffer.alloc(1e7, 1))"),
    "child_memory_bomb": dict(code="require('child_process').spawnSync('sh', ['-c', 'head -c 2G /dev/zero | tail']).status"),
    "fork_bomb": dict(code="while (true) require('child_process').spawn('sleep', ['100']).on('error', () => {})"),
    "forked_child": absent("Node cannot fork its interpreter: child_process.fork() starts another program, which has no link to answer on."),
    "workers": dict(code="const { Worker } = require('worker_threads')\n"
                         "const source = `const { parentPort, workerData: n } = require('worker_threads')\n"
                         "require('fs').writeSync(1, 'worker\\\\n')\nparentPort.postMessage(n * n)`\n"
                         "const start = (n) => new Worker(source, { eval: true, workerData: n })\n"
                         "const work = (n) => new Promise((resolve) => start(n).on('message', resolve))\n"
                         "await Promise.all([2, 3].map(work))", value="[ 4, 9 ]"),
    "hidden_link": dict(code="require('child_process').execSync('for f in /proc/self/fd/*; do readlink $f; done; env', { stdio: 'inherit' })\nvoid 0"),
    "hard_exit": dict(code="console.log('last words')\nprocess.execve('/bin/sh', ['sh', '-c', 'exit 3'], process.env)"),
    "crash": dict(code="require('child_process').execSync(`kill -SEGV ${process.pid}`)\nawait new Promise(() => {})"),
    "abort": dict(code="require('child_process').execSync(`kill -ABRT ${process.pid}`)\nawait new Promise(() => {})"),
    "killed": dict(code="require('child_process').execSync(`kill -KILL ${process.pid}`)\nawait new Promise(() => {})"),
    # files and surroundings
    "surroundings": dict(code="console.log([process.cwd(), os.homedir(), process.env.USER, process.env.LANG,\n"
                              "  ...Object.keys(process.env).filter((name) => name.startsWith('HUSK'))].join('\\n'))"),
    "environment": dict(get="process.env.GREETING ?? 'none'", fail="throw new Error('x')", change="process.env.GREETING = 'mine'; 1",
                        values={"none": "'none'", "given": "'hello there'", "changed": "'mine'"}),
    "shared_files": dict(write="fs.writeFileSync('cell.txt', 'from a cell\\n')",
                         read="process.stdout.write(fs.readFileSync('terminal.txt'))"),
    "terminal_beside": dict(code="while (!fs.existsSync('go')) await new Promise((r) => setTimeout(r, 5))\nconsole.log('went')"),
    "terminal_language": dict(command="node -e 'console.log(6 * 7)'"),
    "program": dict(code="console.log(2 * Number(require('fs').readFileSync(0)))\nprocess.exit(3)"),
    "deleted_workspace": dict(code="fs.readdirSync('/workspace').forEach((name) => fs.rmSync('/workspace/' + name, { recursive: true }))",
                              write="fs.writeFileSync('/workspace/cell.txt', 'from a cell\\n')"),
    "full_disk": dict(code="fs.writeFileSync('big', Buffer.alloc(110 * 2 ** 20, 1))", words="ENOSPC"),
    "sessions": dict(set="const mine = %d\nawait new Promise((r) => setTimeout(r, 200))", get="mine", values=["0", "1"]),
}
