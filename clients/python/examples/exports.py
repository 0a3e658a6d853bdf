"""Export a file, a directory, or several at once. Exports outlive their session."""

import pathlib
import tarfile

from husk import SandboxManager

manager = SandboxManager()
sid = manager.create_session(runtime="python").session_id
manager.execute_code(sid, """
from pathlib import Path
Path("report.pdf").write_bytes(b"%PDF-1.4 a report")
Path("results").mkdir()
Path("results/a.txt").write_text("A")
Path("logs").mkdir()
Path("logs/run.log").write_text("fine")
""")

report = manager.export_files(sid, [{"source": "report.pdf"}])
print(report.files[0].path, report.files[0].success)

several = manager.export_files(sid, [{"source": "results/"}, {"source": "/workspace/logs/"}, {"source": "missing.txt"}])
for file in several.files:
    print(file.session_id == sid, file.path, file.success, file.error)

manager.stop_session(sid)
print("kept:", pathlib.Path(report.files[0].host_path).read_bytes()[:8].decode())
with tarfile.open(several.files[0].host_path) as archive:
    print("in the archive:", sorted(name for name in archive.getnames() if name.endswith(".txt")))
