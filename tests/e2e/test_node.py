"""Node.js through the real server: its prompt's behaviour, its endings, npm and the network. The kernel's own tests go deeper."""

import base64
import json
import os

import pytest
from harness import TEST_LABEL, Server, docker, wait_until

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture(scope="module")
def node_server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("node"), CONTAINER_CA_BUNDLE="none") as server:
        yield server


@pytest.fixture(scope="module")
def node(node_server):
    """A session that the tests use one after the other: bring your own names."""
    return node_server.session(language="node", network=False)


@pytest.fixture
def own(start):
    return start().session(language="node", network=False)


# --- what a model is told


def test_the_tool_lists_node_and_its_aliases_work(node_server):
    tools = {tool["name"]: tool for tool in node_server.request("tools/list").result()["tools"]}
    schema = tools["create_session"]["inputSchema"]["properties"]["language"]
    assert "node" in schema["enum"]
    assert "Node.js 22" in json.dumps(tools["create_session"])
    session = node_server.session(language="javascript", network=False)
    assert session.code("process.release.name").ok().value == "'node'"
    assert session.stop().is_error is False


# --- cells


def test_state_persists_and_names_can_be_declared_again(node):
    node.code("const rate = 2; let items = [1, 2]; class Box { constructor(v) { this.v = v } }; function twice(x) { return rate * x }").ok()
    assert node.code("const { v } = new Box(items); twice(v.length)").ok().value == "4"
    node.code("const rate = 10; class Box {}").ok()
    assert node.code("[twice(1), new Box()]").ok().value == "[ 10, Box {} ]"
    assert node.code("const fs3 = []; for (let i = 0; i < 3; i++) fs3.push(() => i); fs3.map(f => f())").ok().value == "[ 0, 1, 2 ]"


@pytest.mark.parametrize("code, value", [
    ("new Map([['k', { n: 1n }]])", "Map(1) { 'k' => { n: 1n } }"),
    ("const ring = { name: 'ring' }; ring.self = ring; ring", "<ref *1> { name: 'ring', self: [Circular *1] }"),
    ("(class Shape {})", "[class Shape]"),
    ("Symbol('s')", "Symbol(s)"),
    ("'žluťoučký 🐢'", "'žluťoučký 🐢'"),
    ("let quiet = 1", None),
    ("new Promise(resolve => setTimeout(resolve, 5, 'awaited'))", "'awaited'"),
    ("const later = await Promise.resolve(5); later", "5"),
    ("import { join } from 'node:path'; join('a', 'b')", "'a/b'"),
    ("(await import('node:os')).EOL", "'\\n'"),
    ("interface P { x: number }\nconst p: P = { x: 3 }\np.x as number", "3"),
])
def test_values(node, code, value):
    assert node.code(code).ok().value == value


def test_plain_data_comes_as_json_too(node):
    result = node.code("({ rows: [{ a: 1 }, { a: null }] })").ok()
    assert json.loads(result.fields["result"]["application/json"]) == {"rows": [{"a": 1}, {"a": None}]}


def test_console_and_streams_apart(node):
    code = "console.table([{ a: 1 }]); console.error('to stderr'); child_process.execSync('echo child', { stdio: 'inherit' })"
    result = node.code(code).ok()
    assert "│ (index) │ a │" in result.stdout and result.stdout.endswith("child\n")
    assert result.stderr == "to stderr\n"


def test_modules_from_the_workspace(node):
    node.shell("""cd /workspace && mkdir -p node_modules/esm && echo 'exports.n = 7' >local.js
        echo '{"type": "module", "exports": "./i.js"}' >node_modules/esm/package.json
        echo 'export const who = "esm"' >node_modules/esm/i.js""").ok()
    assert node.code("import { who } from 'esm'; [who, require('./local').n, require('esm').who]").ok().value == "[ 'esm', 7, 'esm' ]"


# --- errors


def test_errors_show_the_user_s_lines_only(node):
    result = node.code("function inner() {\n  throw new RangeError('the cause')\n}\ninner()")
    assert (result.ending, result.error["type"], result.error["message"]) == ("error", "RangeError", "the cause")
    lines = result.error["traceback"].splitlines()
    assert lines[0] == "RangeError: the cause" and ":2:9)" in lines[1] and lines[2].endswith(":4:1") and len(lines) == 3
    assert result.text.startswith("[error] RangeError: the cause")


def test_syntax_errors_say_where(node):
    result = node.code("let fine = 1\nlet x = ;")
    assert result.error["type"] == "SyntaxError" and "let x = ;\n        ^" in result.error["traceback"]


def test_unhandled_rejections_are_reported_and_not_fatal(node):
    node.code("var survives = 'alive'").ok()
    result = node.code("Promise.reject(new Error('nobody cares')); 1")
    assert result.ending == "error" and "nobody cares" in result.error["traceback"] and "<cell " in result.error["traceback"]
    late = "if (fs.existsSync('late')) { clearInterval(watch); throw new Error('much later') }"
    node.code(f"var watch = setInterval(() => {{ {late} }}, 1)").ok()
    result = node.code("fs.writeFileSync('late', ''); await new Promise(r => setTimeout(r, 60)); survives").ok()
    assert result.value == "'alive'" and "Uncaught Error: much later\n    at " in result.stderr


@pytest.mark.parametrize("code", [
    "process.exit(3)", "process.abort()", "process.kill(process.pid, 'SIGKILL')", "setImmediate(process.exit)",
])
def test_exits_are_reported_and_harmless(node, code):
    node.code("globalThis.stays = 'here'").ok()
    result = node.code(f"{code}; await new Promise(() => {{}})")
    assert (result.ending, result.error["type"]) == ("error", "ProcessExit"), result.text
    assert "process." in result.error["message"]
    assert node.code("stays").ok().value == "'here'"


# --- how cells end

ENDLESS = {
    "synchronous loop": "while (true);",
    "microtasks": "const again = () => Promise.resolve().then(again); again(); 1",
    "await loop": "for (;;) await null",
    "waiting": "await new Promise(() => {})",
    "child process": "child_process.execSync('sleep 60')",
    "regular expression": "/(a+)+$/.test('a'.repeat(60) + 'b')",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_cell_is_interrupted_and_the_state_kept(node, name):
    node.code("var kept = { before: 'kept' }").ok()
    result = node.code(f"console.log('before'); {ENDLESS[name]}", 1)
    assert (result.is_error, result.success, result.ending) == (False, False, "timeout"), result.text
    assert result.stdout == "before\n" and "gone" not in result.text, result.text
    assert node.code("kept.before").ok().value == "'kept'"
    assert node.shell("grep -lx sleep /proc/[0-9]*/comm").stdout == ""


def test_cancelling_interrupts(node):
    node.code("var cancelled = 'kept'").ok()
    running = node.start_code("console.log('go'); while (true);", 60, progress="c")
    node.server.wait_for(lambda s: s.progress_of("c"), what="progress")
    node.server.cancel(running)
    assert node.code("cancelled").ok().value == "'kept'"


def test_a_killed_kernel_is_started_again(own):
    own.code("var lost = 1; fs.writeFileSync('kept.txt', 'kept')").ok()
    result = own.code("child_process.execSync(`kill -9 ${process.pid}`)")
    assert result.ending == "kernel_died" and "variables" in result.text, result.text
    assert own.code("[typeof lost, fs.readFileSync('kept.txt', 'utf8')]").ok().value == "[ 'undefined', 'kept' ]"


def test_the_end_of_memory_ends_the_kernel_only(own):
    result = own.code("const hog = []; for (;;) hog.push(new Array(1e5).fill(Math.random()))", 120)
    assert result.ending in ("kernel_died", "oom") and "heap" in result.stderr + result.text, result.text
    assert own.code("typeof hog").ok().value == "'undefined'"


# --- displays


def test_displays(node):
    result = node.code(f"""const png = Buffer.from('{PNG}', 'base64')
display(png); display({{ image: '{PNG}' }}); display({{ image: png, mimeType: 'image/jpeg' }})
display({{ html: '<b>bold</b>' }}); display({{ svg: '<svg xmlns="http://www.w3.org/2000/svg"/>' }}); display({{ markdown: '# title' }})
display({{ json: {{ a: [1] }} }}); display({{ audio: Buffer.from('RIFF....WAVE') }})""").ok()
    types = [output["type"] for output in result.display_outputs]
    assert types == ["image/png", "image/png", "image/jpeg", "text/html", "image/svg+xml", "text/markdown", "application/json", "audio/wav"]
    assert [kind for kind, _ in result.images][:2] == ["image/png", "image/png"]
    assert result.images[0][1] == base64.b64decode(PNG)
    assert "# title" in result.text


# --- npm and the network

# Has one version of every package: it says its name, also as a command.
REGISTRY = r"""
const http = require('http'), zlib = require('zlib'), crypto = require('crypto');
const octal = (n, size) => n.toString(8).padStart(size - 1, '0') + '\0';
function entry([name, text]) {
  const head = Buffer.alloc(512), body = Buffer.alloc(Math.ceil(text.length / 512) * 512, 0);
  body.write(text);
  head.write(name);
  head.write(octal(0o644, 8), 100);
  head.write(octal(text.length, 12), 124);
  head.write(octal(0, 12), 136);
  head.fill(' ', 148, 156);
  head.write('0', 156);
  head.write('ustar\x0000', 257);
  head.write(octal(head.reduce((a, b) => a + b), 8), 148);
  return [head, body];
}
function tarball(about) {
  const files = { 'package/package.json': JSON.stringify(about), 'package/index.js': `exports.name = '${about.name}'`,
    'package/cli.js': `#!/usr/bin/env node\nconsole.log('${about.name} says hello')` };
  return zlib.gzipSync(Buffer.concat([...Object.entries(files).flatMap(entry), Buffer.alloc(1024)]));
}
http.createServer((request, response) => {
  const name = request.url.split('/')[1], about = { name, version: '1.2.3', bin: 'cli.js' };
  if (request.url.endsWith('.tgz')) return response.end(tarball(about));
  const integrity = 'sha512-' + crypto.createHash('sha512').update(tarball(about)).digest('base64');
  const dist = { tarball: `http://${request.headers.host}/${name}/-/${name}-1.2.3.tgz`, integrity };
  response.setHeader('content-type', 'application/json');
  const versions = { '1.2.3': { ...about, bin: { [name]: 'cli.js' }, dist } };
  response.end(JSON.stringify({ name, 'dist-tags': { latest: '1.2.3' }, versions }));
}).listen(0, ADDRESS, function () { console.log(this.address().port) });
"""


@pytest.fixture(scope="module")
def online(node_server):
    return node_server.session(language="node", network=True)


@pytest.fixture(scope="module")
def registry(online):
    """A package registry of our own on the bridge's gateway, in a container of the host's network: nothing leaves this machine."""
    image = docker("inspect", "--format", "{{.Config.Image}}", online.container)
    gateway = docker("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}", online.container)
    name = f"husk-test-registry-{os.getpid()}"
    docker("run", "--detach", "--rm", "--name", name, "--label", TEST_LABEL, "--network", "host", "--user", "65532:65532",
           "--entrypoint", "node", image, "-e", REGISTRY.replace("ADDRESS", repr(gateway)))
    try:
        port = int(wait_until(lambda: docker("logs", name).strip(), what="the registry"))
        yield f"http://{gateway}:{port}"
    finally:
        docker("rm", "--force", name)


def test_fetch_with_the_network_on(online, registry):
    result = online.code(f"const response = await fetch('{registry}/tiny'); [response.status, (await response.json()).name]", 60).ok()
    assert result.value == "[ 200, 'tiny' ]"


def test_fetch_with_the_network_off(node, registry):
    result = node.code(f"await fetch('{registry}/tiny')")
    assert (result.ending, result.error["message"]) == ("error", "fetch failed") and "ENETUNREACH" in result.error["traceback"]


def test_npm_install_in_the_workspace(online, registry):
    result = online.shell(f"cd /workspace && npm install --registry {registry} tiny", 120).ok()
    assert result.exit_code == 0 and "added 1 package" in result.stdout, result.text
    assert online.code("import { name } from 'tiny'; [name, require('tiny').name]").ok().value == "[ 'tiny', 'tiny' ]"


def test_npm_install_for_all_and_npx(online, registry):
    result = online.shell(f"npm install --global --registry {registry} everywhere && everywhere", 120).ok()
    assert result.stdout.endswith("everywhere says hello\n")
    assert online.code("[(await import('everywhere')).name, require('everywhere').name]").ok().value == "[ 'everywhere', 'everywhere' ]"
    assert online.shell(f"npx --yes --registry {registry} once", 120).ok().stdout == "once says hello\n"


def test_native_modules_load(node):
    """A compiled module, as npm unpacks one: the folders of a session are mounted so that its code runs."""
    code = "process.dlopen({ exports: {} }, '/workspace/libcopy.so')"
    node.shell("cp $(ldconfig -p | sed -n 's/.*=> //p' | grep -m1 libstdc) /workspace/libcopy.so").ok()
    result = node.code(code)
    assert "Module did not self-register" in result.error["message"], result.text  # it was loaded, and is no module of Node's
