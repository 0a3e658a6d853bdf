#!/usr/bin/env python3
"""Draws docs/images/session.svg from a real session: docs/images/session.py build/husk >docs/images/session.svg

Calls the tools of `husk mcp` as an MCP client does, and draws the calls and their answers, with the picture that one of them returns."""

import base64
import html
import json
import subprocess
import sys
import textwrap

CALLS = [
    ("execute_code", """import pandas as pd
trips = pd.DataFrame({"city": ["Oslo", "Bergen", "Oslo", "Bodø", "Bergen", "Oslo"],
                      "km": [12.1, 4.0, 8.3, 21.7, 6.6, 2.9]})
trips.groupby("city").km.agg(["count", "mean"])"""),
    ("execute_code", """ax = trips.groupby("city").km.sum().plot.barh(figsize=(4.6, 2.0), color="#2f6f9f")
ax.set(title="Kilometres by city", ylabel=""); ax.figure.tight_layout()"""),
    ("execute_code", "while True:\n    pass", {"timeout": 1}),
    ("execute_code", "f\"{len(trips)} trips are still here\""),
    ("execute_terminal", "id -un; nproc; touch /etc/x"),
]
WIDTH, LINE, LEFT, SIZE, COLUMNS = 800, 18, 24, 13, 94
COLOURS = {"name": "#8a5a00", "code": "#1f2933", "answer": "#3d4f5f"}


class Client:
    """As much of an MCP client as five calls need."""

    def __init__(self, program):
        self.server = subprocess.Popen([program, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.last = 0
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "session.py", "version": "1"}}
        self.request("initialize", hello)

    def request(self, method, params):
        self.last += 1
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}) + "\n")
        self.server.stdin.flush()
        for line in self.server.stdout:
            message = json.loads(line)
            if message.get("id") == self.last:
                return message["result"]
        raise SystemExit("session.py: the server has ended")

    def call(self, tool, arguments):
        return self.request("tools/call", {"name": tool, "arguments": arguments})["content"]


class Drawing:
    def __init__(self):
        self.parts, self.y = [], 30

    def text(self, text, kind, indent=0):
        for line in [piece for whole in text.splitlines() for piece in textwrap.wrap(whole, COLUMNS, drop_whitespace=False) or [""]]:
            self.parts.append(f'<text x="{LEFT + indent}" y="{self.y}" fill="{COLOURS[kind]}" xml:space="preserve">{html.escape(line)}</text>')
            self.y += LINE

    def picture(self, data, width, height):
        self.parts.append(f'<image x="{LEFT + 20}" y="{self.y - 10}" width="{width}" height="{height}" href="data:image/png;base64,{data}"/>')
        self.y += height + 6

    def svg(self):
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.y}" width="{WIDTH}" height="{self.y}" '
                f'font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="{SIZE}">'
                f'<title>A session of Husk: five calls and their answers</title>'
                f'<rect width="100%" height="100%" rx="10" fill="#f7f5f0" stroke="#d9d3c5"/>')
        return "\n".join([head, *self.parts, "</svg>"])


def size_of(picture):
    """Width and height of a PNG in base64, in points of the drawing."""
    head = base64.b64decode(picture)[16:24]
    return int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")


def main():
    client, drawing = Client(sys.argv[1]), Drawing()
    created = json.loads(client.call("create_session", {"language": "python", "network": False})[0]["text"])
    session = created["session_id"]
    try:
        for tool, source, *more in CALLS:
            options = more[0] if more else {}
            key = "command" if tool == "execute_terminal" else "code"
            shown = "".join(f", {name}={value}" for name, value in options.items())
            drawing.text(f"{tool}{shown and '  ' + shown[2:]}", "name")
            drawing.text(source, "code", 20)
            drawing.y += 4
            for block in client.call(tool, {"session_id": session, key: source, **options}):
                if block["type"] == "text":
                    drawing.text(block["text"], "answer", 20)
                else:
                    drawing.picture(block["data"], *size_of(block["data"]))
            drawing.y += 12
    finally:
        client.call("stop_session", {"session_id": session})
        client.server.stdin.close()
        client.server.wait()
    print(drawing.svg())


if __name__ == "__main__":
    main()
