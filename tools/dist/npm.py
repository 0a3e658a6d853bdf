"""The npm package: the tree, whose program is the package's command. Installing it downloads and runs nothing."""

import json
import platform

import archive
from stage import ROOT

CPU = {"x86_64": "x64", "aarch64": "arm64"}
LIBRARY = "lib/libhusk.so.0"  # for Python and C; the npm package does not use it


def manifest(version):
    return {
        "name": "husk",
        "version": version,
        "description": "A real computer for AI agents, with a hard shell around it: an MCP server with persistent interpreters in containers",
        "license": "MIT",
        "keywords": ["mcp", "mcp-server", "sandbox", "code-interpreter", "docker"],
        "bin": {"husk": "bin/husk"},
        "man": ["share/man/man1/husk.1"],
        "os": ["linux"],
        "cpu": [CPU[platform.machine()]],
        "libc": ["glibc"],
    }


def build(tree, out, level):
    entries = [("package/package.json", json.dumps(manifest(tree.version), indent=2).encode() + b"\n"),
               ("package/README.md", ROOT / "README.md"), ("package/LICENSE", ROOT / "LICENSE")]
    entries += [(f"package/{name}", path) for name, path in archive.tree_files(tree.folder) if name != LIBRARY]
    return archive.write_tgz(out / f"husk-{tree.version}.tgz", entries, level)
