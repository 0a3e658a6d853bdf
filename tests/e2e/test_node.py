"""Node.js through the real server: how it is offered, its memory, npm and the network. The kernel's own tests and the
table of behaviours cover cells.
"""

import json
import os

import package_index
import pytest
from harness import TEST_LABEL, Server, docker, wait_until


@pytest.fixture(scope="module")
def node_server(tmp_path_factory, husk_network):
    with Server(tmp_path_factory.mktemp("node"), CONTAINER_CA_BUNDLE="none", CONTAINER_NETWORK_PRIVATE=package_index.gateway()) as server:
        yield server


@pytest.fixture(scope="module")
def node(node_server):
    """A session that the tests share, so each test uses its own variable names."""
    return node_server.session(language="node", network=False)


@pytest.fixture
def own(start):
    return start().session(language="node", network=False)


# --- texts for models


def test_the_tool_lists_node_and_its_aliases_work(node_server):
    tools = {tool["name"]: tool for tool in node_server.request("tools/list").result()["tools"]}
    schema = tools["create_session"]["inputSchema"]["properties"]["language"]
    assert "node" in schema["enum"]
    assert "Node.js 22" in json.dumps(tools["create_session"])
    session = node_server.session(language="javascript", network=False)
    assert session.code("process.release.name").ok().value == "'node'"
    assert session.stop().is_error is False


def test_running_out_of_memory_ends_only_the_kernel(own):
    result = own.code("const hog = []; for (;;) hog.push(new Array(1e5).fill(Math.random()))", 120)
    assert result.ending in ("kernel_died", "oom") and "heap" in result.stderr + result.text, result.text
    assert own.code("typeof hog").ok().value == "'undefined'"


# --- npm and the network

# Serves one version of any package: the package exports its own name, and installs a command that prints it.
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
        docker("rm", "--force", "--volumes", name)


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
    assert "Module did not self-register" in result.error["message"], result.text  # it was loaded, and is not a module of Node's
