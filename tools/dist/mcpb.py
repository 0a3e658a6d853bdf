"""The MCP bundle, for clients that install a server by one click: a zip of manifest.json, an icon and the tree in
server/.

An empty setting means the value that `husk config` keeps, or Husk's default, since an empty variable counts as
unset. So no field has an initial value.
"""

import json
import pathlib
import subprocess

import archive
from npm import LIBRARY
from stage import ROOT, clean_environment

HERE = pathlib.Path(__file__).resolve().parent
LISTED = ('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
          '"clientInfo":{"name":"dist","version":"1"}}}\n'
          '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
          '{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n')
# name: (environment variable, label in the form)
SETTINGS = {
    "storage_dir": ("STORAGE_DIR", {"type": "directory", "title": "Exports", "default": "",
                                    "description": "Where exported files go. Empty: a folder of Husk's own."}),
    "import_dirs": ("IMPORT_ALLOWED_DIRS", {"type": "directory", "title": "Imports", "default": "",
                                            "description": "A folder of this computer whose files may be copied into sessions. Empty: none."}),
    "memory": ("CONTAINER_MEMORY_LIMIT", {"type": "string", "title": "Memory of a session", "default": "",
                                          "description": "As in 4g or 2048m. Empty: 2048m."}),
    "network": ("CONTAINER_NETWORK_ENABLED", {"type": "string", "title": "Network", "default": "",
                                              "description": "false keeps sessions off the Internet; private networks are always closed. Empty: true."}),
    "sessions": ("CONTAINER_MAX_SESSIONS", {"type": "string", "title": "Sessions at once", "default": "",
                                            "description": "How many sessions may exist at a time. Empty: 5."}),
    "timeout": ("CONTAINER_EXECUTION_TIMEOUT_SECONDS", {"type": "string", "title": "Seconds for a cell", "default": "",
                                                        "description": "How long a cell or command may run unless the call says otherwise. Empty: 30."}),
    "docker_host": ("DOCKER_HOST", {"type": "string", "title": "Docker engine", "default": "",
                                    "description": "As in unix:///run/user/1000/docker.sock or ssh://me@host. Empty: this computer's own."}),
}


def tools(program):
    """The tools that the server lists. The first sentence of each description is enough for an installer's page."""
    done = subprocess.run([program, "mcp"], input=LISTED, capture_output=True, text=True, check=True, timeout=60, env=clean_environment())
    answers = {answer.get("id"): answer for answer in map(json.loads, done.stdout.splitlines())}
    return [{"name": tool["name"], "description": first_sentence(tool["description"])} for tool in answers[2]["result"]["tools"]]


def first_sentence(text):
    return text.split("\n")[0].split(". ")[0].rstrip(".") + "."


def manifest(version, program):
    return {
        "manifest_version": "0.3",
        "name": "husk",
        "display_name": "Husk",
        "version": version,
        "description": "A real computer for AI agents, with a hard shell around it.",
        "long_description": "Persistent Python, Node.js and R interpreters and a shell, each session in its own hardened Docker container. Variables, "
                            "imports and files stay from one call to the next, plots come back as pictures, and this computer stays untouched.\n\n"
                            "Husk needs a Docker engine and its images. `server/bin/husk setup`, in the folder of this bundle, makes both; "
                            "`server/bin/husk doctor` says what is missing.",
        "author": {"name": "The Husk authors"},
        "license": "MIT",
        "keywords": ["sandbox", "code", "python", "node", "r", "docker"],
        "icon": "icon.png",
        "server": {
            "type": "binary",
            "entry_point": "server/bin/husk",
            "mcp_config": {
                "command": "${__dirname}/server/bin/husk",
                "args": ["mcp"],
                "env": {variable: f"${{user_config.{name}}}" for name, (variable, _) in SETTINGS.items()},
            },
        },
        "tools": tools(program),
        "user_config": {name: {**asked, "required": False} for name, (_, asked) in SETTINGS.items()},
        "compatibility": {"platforms": ["linux"]},
    }


def build(tree, out, level):
    text = json.dumps(manifest(tree.version, tree.folder / "bin" / "husk"), indent=2, ensure_ascii=False)
    entries = [("manifest.json", text.encode() + b"\n"), ("icon.png", HERE / "icon.png"), ("LICENSE", ROOT / "LICENSE"),
               ("README.md", ROOT / "README.md")]
    entries += [(name, path) for name, path in archive.tree_files(tree.folder, "server/") if name != f"server/{LIBRARY}"]
    return archive.write_zip(out / f"husk-{tree.version}.mcpb", entries, level)
