"""Node's column."""

from . import absent

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
FOR_EVER = "await new Promise(() => {})"

COLUMN = {
    # values and state
    "state": dict(set="let kept = 41", get="kept + 1", value="42"),
    "last_value": dict(code="const x = [1, 'two']\nx", value="[ 1, 'two' ]"),
    "no_value": dict(code="const nothing = 5", comment="// nothing"),
    "definitions": dict(first="function f() { return 1 }\nclass C { static n = 1 }",
                        second="function f() { return 2 }\nclass C { static n = 2 }", use="[f(), C.n]", values=["[ 1, 1 ]", "[ 2, 2 ]"]),
    "unicode": dict(code="const größe = 'größe → 日本 🎈'\nconsole.log(größe)\nconsole.error(größe)\ngröße",
                    value="'größe → 日本 🎈'"),
    "line_ends": dict(code="\ufefflet line = 1\r\nif (line) {\r\n\tline = 2\r\n}\r\nline", value="2"),
    "long_source": dict(first="let total = 0", line="total += 1", get="total", value="5000"),
    "big_value": dict(code="({ [util.inspect.custom]: () => 'z'.repeat(5_000_000) })"),
    "asynchronous": dict(code="const later = async () => 7\nconst y = await later()\nif (y !== 7) throw y\nlater()", value="7"),
    "packages": dict(code="for (const name of require('module').builtinModules) require(name)\nchild_process.execSync('npm --version')"),
    # errors
    "error": dict(code="function inner() {\n  throw new TypeError('the cause')\n}\n\nfunction outer() { inner() }\n\nouter()",
                  type="TypeError", message="the cause", line=":2:9)\n    at outer (<cell "),
    "work_before_an_error": dict(code="console.log('before')\nlet half = 'done'\nthrow new Error('x')", get="half", value="'done'"),
    "syntax_error": dict(code="let unrun = 1\nprint(1 2)", type="SyntaxError", where=">:2\nprint(1 2)\n      ^", get="unrun"),
    "broken_value": dict(code="({ [util.inspect.custom]() { throw new Error('no picture of me') } })", words="no picture of me"),
    "warning": dict(code="process.emitWarning('careful')\n5", words="Warning: careful"),
    "recursion": dict(code="function deep(n) { return deep(n + 1) + 1 }\ndeep(0)", words="Maximum call stack size exceeded"),
    "huge_allocation": dict(code="new ArrayBuffer(1e13)", words="Array buffer allocation failed"),
    "keyboard": dict(code="const rl = readline.createInterface({ input: process.stdin })\nawait new Promise(r => rl.question('name? ', r))",
                     words="nobody can answer"),
    "exit_call": dict(code="process.exit(4)", words="process.exit(4)"),
    # time
    "endless_loop": dict(code="console.log('before')\nwhile (true);"),
    "endless_wait": dict(code=f"console.log('before')\n{FOR_EVER}"),
    "endless_child": dict(code="console.log('before')\nchild_process.execSync('sleep 100')\nwhile (true);"),
    "cancelled": dict(code="console.log('before')\nwhile (true);"),
    "deaf": dict(code="console.log('before')\nrequire('crypto').pbkdf2Sync('x', 'y', 2 ** 31 - 1, 64, 'sha512')"),
    # output
    "streams": dict(code="console.log('out')\nconsole.error('err')"),
    "child_output": dict(code="console.log('one')\nchild_process.execSync(`echo child; echo \"child's error\" >&2`, { stdio: 'inherit' })\n"
                              "console.log('two')"),
    "long_line": dict(code="console.log('z'.repeat(10_000_000))"),
    "many_lines": dict(code="for (let i = 0; i < 100_000; i++) console.log('line', i)"),
    "junk": dict(code="process.stdout.write(Uint8Array.from({ length: 256 }, (_, i) => i))"),
    "nul_bytes": dict(code="console.log('a\\0\\0b')"),
    "ansi": dict(code="console.log('\\x1b[31mred\\x1b[0m')"),
    "late_child": dict(code="const command = 'until [ -e go ]; do sleep 0.02; done; echo late; touch went'\n"
                            "const p = child_process.spawn(command, { shell: true, stdio: 'inherit' })"),
    "late_output": dict(code="const went = new Promise(resolve => {\n  const timer = setInterval(() => {\n"
                             "    if (!fs.existsSync('go')) return\n    clearInterval(timer)\n"
                             "    console.log('late')\n    resolve()\n  }, 10)\n})",
                        until="await went"),
    "closed_streams": dict(code="fs.closeSync(1)\nfs.closeSync(2)"),
    "redirected_streams": dict(code="process.stdout.write = () => true\nprocess.stderr.write = null"),
    # displays
    "image": dict(code=f"display({{ image: '{PNG}' }})"),
    "figure": absent("Node has no plots of its own: what a library draws (an SVG, a PNG Buffer) is shown by display()."),
    "html": dict(code="display({ html: '<b>bold</b>' })"),
    "json": dict(code="display({ json: { a: [1, 2] } })"),
    "display_before_an_error": dict(code="display({ html: '<b>bold</b>' })\nthrow new Error('x')"),
    "big_html": dict(code="display({ html: 'h'.repeat(3_000_000) })"),
    "table": absent("JavaScript has no type for tables: console.table() prints an array of objects as one; as a result it is JSON too."),
    # processes and memory
    "memory_bomb": dict(code="const b = []\nwhile (true) b.push(Buffer.alloc(1e7, 1))"),
    "child_memory_bomb": dict(code="child_process.spawnSync('head -c 2G /dev/zero | tail', { shell: true, stdio: 'inherit' })"),
    "fork_bomb": dict(code="while (true) child_process.spawn('sleep', ['100']).on('error', () => {})"),
    "forked_child": absent("Node cannot copy itself: child_process.fork() starts a new program, which has no link (see hidden link)."),
    "hidden_link": dict(code="child_process.execSync('ls -l /proc/self/fd; env', { stdio: 'inherit' })"),
    "hard_exit": dict(code="console.log('last words')\nprocess.execve('/bin/sh', ['sh', '-c', 'exit 3'], process.env)"),
    "crash": dict(code=f"child_process.execSync(`kill -SEGV ${{process.pid}}`)\n{FOR_EVER}"),
    "abort": dict(code=f"child_process.execSync(`kill -ABRT ${{process.pid}}`)\n{FOR_EVER}"),
    "killed": dict(code=f"child_process.execSync(`kill -KILL ${{process.pid}}`)\n{FOR_EVER}"),
    # files and surroundings
    "surroundings": dict(code="const husk = Object.keys(process.env).filter(name => name.startsWith('HUSK'))\n"
                              "console.log([process.cwd(), os.homedir(), process.env.USER, process.env.LANG, ...husk].join('\\n'))"),
    "shared_files": dict(write="fs.writeFileSync('cell.txt', 'from a cell\\n')",
                         read="process.stdout.write(fs.readFileSync('terminal.txt'))"),
    "terminal_beside": dict(code="while (!fs.existsSync('go')) await timers.promises.setTimeout(10)\nconsole.log('went')"),
    "terminal_language": dict(command="node --print '6 * 7'"),
    "deleted_workspace": dict(code="for (const name of fs.readdirSync('/workspace')) fs.rmSync(name, { recursive: true })",
                              write="fs.writeFileSync('/workspace/cell.txt', 'from a cell\\n')"),
    "full_disk": dict(code="fs.writeFileSync('big', Buffer.alloc(110 * 2 ** 20))", words="no space left"),
    "sessions": dict(set="let mine = %d\nawait timers.promises.setTimeout(200)", get="mine", values=["0", "1"]),
}
