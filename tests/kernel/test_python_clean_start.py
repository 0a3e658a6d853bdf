"""A new interpreter runs no code from the session's folders. Cells can still import from them."""
# evidence: clean-restart

import subprocess
import sys
from pathlib import Path

RUNTIME = "python"

# A module that records its name in a file when it is loaded.
TELL = "open({!r}, 'a').write(__name__ + '\\n')\n"


def plant(folder, told, names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"{name}.py").write_text(TELL.format(str(told)))


def site_of(home):
    return home / ".local/lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def packages():
    """Top-level names that the kernel could load: the standard library and the image's packages."""
    found = {path.stem.split(".")[0] for folder in sys.path if folder.endswith("-packages") for path in Path(folder).glob("*")}
    return sorted({*sys.stdlib_module_names, *found, "sitecustomize", "usercustomize"} - {"encodings"})


def test_nothing_of_the_session_runs_before_a_cell_imports_it(start, tmp_path):
    told, work, more = tmp_path / "told", tmp_path / "work", tmp_path / "more"
    site = site_of(tmp_path)
    for folder in (work, more, site):
        plant(folder, told, [name for name in packages() if name.isidentifier()])
    (site / "evil.pth").write_text(f"import sys; exec({TELL.format(str(told))!r})\n")
    with start(work, HOME=str(tmp_path), PYTHONPATH=str(more), PYTHONUSERBASE="") as kernel:
        assert kernel.run("40 + 2").text == "42"
        assert kernel.run("1 / 0").error["type"] == "ZeroDivisionError"
        assert kernel.run("def f(:").error["type"] == "SyntaxError"
        assert kernel.run("async def f(): return 5\nawait f()").text == "5"
        assert kernel.run("display(1)\nclass A:\n    def _repr_html_(self): return '<b>'\nA()").result["text/html"] == "<b>"
        assert kernel.run("!echo hello").stdout == "hello\n"
        assert kernel.run("%%time\n1 + 1").text == "2"
        assert kernel.run("x = 5\nx?").error is None
        assert kernel.complete("abs(x).re") and kernel.help("abs") and kernel.wholeness("for x in y:")[0] == "incomplete"
        assert kernel.run_answered("input('? ')", "yes")[0].text == "'yes'"
        assert (told.read_text() if told.exists() else "") == ""
        assert kernel.run("import colorsys").error is None and told.read_text() == "colorsys\n", "the cell's own: its folder comes first"


def test_cells_find_what_pip_installs_for_the_user(start, tmp_path):
    site = site_of(tmp_path)
    site.mkdir(parents=True)
    (site / "plain.py").write_text("where = 'site'")
    for kind in ("folder", "editable"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / f"{kind}_one.py").write_text(f"where = {kind!r}")
    (tmp_path / "folder" / "tabulate.py").write_text("where = 'folder'")
    (site / "folder.pth").write_text(f"# a comment\n\n{tmp_path / 'folder'}\n/nowhere\n")
    (site / "editable.pth").write_text(f"import sys; sys.path.append({str(tmp_path / 'editable')!r})\n")
    with start(tmp_path) as kernel:
        assert kernel.run("import plain, folder_one, editable_one, tabulate; plain.where, folder_one.where, editable_one.where, tabulate.where").text \
            == "('site', 'folder', 'editable', 'folder')"
        assert kernel.run("import nothing_has_this_name").error["type"] == "ModuleNotFoundError"
        (tmp_path / "later").mkdir()
        (tmp_path / "later" / "later_one.py").write_text("where = 'later'")
        (site / "later.pth").write_text(f"{tmp_path / 'later'}\n")
        assert kernel.run("import later_one; later_one.where").text == "'later'", "without a restart"
        assert kernel.run("import subprocess, sys; subprocess.check_output([sys.executable, '-c', 'import plain; print(plain.where)'])").text == "b'site\\n'"
        assert kernel.run("import multiprocessing as m; m.get_context('spawn').Pool(1).apply(eval, ('__import__(\"plain\").where',))").text == "'site'"


def test_variables_of_the_session_reach_the_cells(start, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.py").write_text("x = 1")
    with start(tmp_path, PYTHONPATH=str(tmp_path / "own"), PYTHONHASHSEED="7", PYTHONSAFEPATH="1") as kernel:
        code = "import mine, os; mine.x, os.environ['PYTHONPATH'], [n for n in os.environ if n.startswith('HUSK_')], hash('a')"
        seeded = subprocess.check_output([sys.executable, "-c", "print(hash('a'))"], env={"PYTHONHASHSEED": "7"}, text=True).strip()
        assert eval(kernel.run(code).text) == (1, str(tmp_path / "own"), [], int(seeded))
    with start(tmp_path, PYTHONNOUSERSITE="1") as kernel:
        assert kernel.run("import site, sys; site.getusersitepackages() in sys.path").text == "False"
