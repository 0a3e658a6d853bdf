"""Import files of the host into a session. A script may import every file that it can read itself."""

import pathlib
import tempfile

from husk import SandboxManager

with tempfile.TemporaryDirectory() as home:
    pathlib.Path(home, "data.csv").write_text("a,b\n1,2\n")
    pathlib.Path(home, "project").mkdir()
    pathlib.Path(home, "project", "main.py").write_text("print('from the project')\n")

    with SandboxManager() as manager:
        sid = manager.create_session(runtime="python").session_id
        done = manager.import_files(sid, [
            {"source": f"{home}/data.csv", "destination": "data.csv"},
            {"source": f"{home}/project/", "destination": "project/"},
            {"source": f"{home}/missing.csv"},
        ])
        for file in done.files:
            print(file.destination, file.success, file.error.replace(home, "…"))
        print(manager.execute_terminal(sid, "cat data.csv; python3 project/main.py").stdout, end="")
