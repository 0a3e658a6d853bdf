"""The machine that an agent expects: the tools of every image, the packages of each language, fonts, a virtual environment."""

import json

import pytest
from harness import build_dir

TOOLS = ("git make gcc g++ curl wget jq zip unzip xz file tree less rg sqlite3 patch diff rsync bc ssh ip nano"
         " bash ps top free find grep sed awk tar gzip bzip2").split()
PYTHON = ("numpy pandas pyarrow.parquet pyarrow.feather scipy sklearn matplotlib seaborn sympy networkx requests bs4 lxml openpyxl yaml tqdm jinja2 tabulate psutil pytest"
          " PIL").split()
R = ("tidyverse ggplot2 data.table readxl haven httr2 DBI RSQLite jsonlite knitr rmarkdown htmlwidgets devtools glmnet randomForest"
     " openxlsx writexl plotly DT caret").split()


@pytest.mark.parametrize("language", ["python", "node", "r"])
def test_tools_of_every_image(server, language):
    session = server.session(language=language)
    missing = session.shell(f"for tool in {' '.join(TOOLS)}; do command -v $tool >/dev/null || echo $tool; done").stdout.split()
    assert missing == []
    built = session.shell("cd /tmp && printf 'int main() { return 42; }' >a.cc && g++ -o a a.cc && ./a")
    assert built.exit_code == 42, built.text
    commit = session.shell("git init -q /tmp/g && cd /tmp/g && git commit -q --allow-empty -m first && git log --format='%an <%ae>'")
    assert commit.stdout == "Sandbox <sandbox@localhost>\n", commit.text
    fonts = session.shell("fc-list : family").stdout if language == "r" else session.shell("find /usr/share/fonts -type f").stdout
    for font in ("DejaVu", "wqy|WenQuanYi", "NotoColorEmoji|Noto Color Emoji", "Symbola"):
        assert any(name in fonts for name in font.split("|")), font


def test_each_runtime_has_one_image():
    for image in json.loads((build_dir() / "images.json").read_text()):
        assert not [key for key in image if key.startswith("build")]


def test_python_packages(session):
    assert session.code(f"import importlib\nfor name in {PYTHON}:\n    importlib.import_module(name)\n'all'", timeout=120).ok().value == "'all'"
    assert session.shell("python -c 'print(1)'; pytest --version").stdout.startswith("1\npytest")


def test_pip_list_has_no_stubs(session):
    listed = session.shell("pip list").stdout
    assert "pandas" in listed and "types-" not in listed


def test_a_virtual_environment(session):
    done = session.shell("python -m venv /workspace/v && /workspace/v/bin/python -m pip --version && /workspace/v/bin/python -c "
                         "'import sys; print(sys.prefix)'", 120)
    assert done.exit_code == 0 and done.stdout.splitlines()[-1] == "/workspace/v", done.text


def test_r_packages(server):
    session = server.session(language="r")
    names = ", ".join(f'"{name}"' for name in R)
    assert session.code(f"cat(setdiff(c({names}), rownames(installed.packages())))", timeout=120).ok().stdout == ""


def test_pictures_show_chinese_japanese_korean_and_emoji(session):
    drawn = session.code("import matplotlib.pyplot as plt\nplt.title('中文 日本語 한국어 😀')\nplt.plot([1, 2])", timeout=120).ok()
    assert len(drawn.images) == 1 and drawn.stderr == "", drawn.text
