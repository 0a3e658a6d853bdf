"""Python writes a table, R summarises it, and Node reads it. Exports and imports carry the file from session to session."""

from husk import SandboxManager

manager = SandboxManager()
a = manager.create_session(runtime="python").session_id
manager.execute_code(a, """
import csv
with open("data.csv", "w", newline="") as f:
    rows = csv.writer(f)
    rows.writerow(["x", "y"])
    rows.writerows((i, i * i) for i in range(1, 11))
""").check()
path = manager.export_files(a, [{"source": "data.csv"}]).files[0].path

b = manager.create_session(runtime="r").session_id
manager.import_files(b, [{"session_id": a, "path": path, "destination": "data.csv"}])
result = manager.execute_code(b, 'd <- read.csv("data.csv"); cat(nrow(d), "rows, mean", mean(d$y), "\\n")')
print("R:", result.stdout.strip())

c = manager.create_session(runtime="node").session_id
manager.import_files(c, [{"session_id": a, "path": path, "destination": "data.csv"}])
result = manager.execute_code(c, """
const { readFile } = require('fs/promises');
async function last() { return (await readFile('data.csv', 'utf8')).trim().split('\\n').pop(); }
last()
""")
print("Node:", result.result["text/plain"])

for session in (a, b, c):
    manager.stop_session(session)
