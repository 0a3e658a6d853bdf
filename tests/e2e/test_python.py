"""Results of a Python cell: one text without prompts and escapes, output in order, and pictures. The kernel's own
tests and the table of behaviours cover cells.
"""

import struct


def test_no_out_prompt_and_no_ansi(session):
    for code in ("42", "print('x'); 42", "import pandas as pd\npd.DataFrame({'a': [1, 2]})", "1/0", "raise ValueError('bad')",
                 "print('\\x1b[31mred\\x1b[0m')", "!printf '\\033[1mbold\\033[0m'"):
        text = session.code(code).text
        assert "Out[" not in text and "In [" not in text, text
        assert "\x1b" not in text and "\\u001b" not in text, text


def test_streams_are_separate(session):
    result = session.code("import sys\nprint('to out')\nprint('to err', file=sys.stderr)").ok()
    assert (result.stdout, result.stderr) == ("to out\n", "to err\n")
    assert "⟦stderr⟧" in result.text


def test_output_of_children_and_c_code_in_order(session):
    result = session.code(
        "import os, subprocess, ctypes, sys\n"
        "libc = ctypes.CDLL(None)\n"
        "print('1 python')\n"
        "os.system('echo 2 system')\n"
        "print('3 python', end='\\n')\n"
        "subprocess.run(['echo', '4 subprocess'])\n"
        "libc.printf(b'5 printf\\n')\n"
        "print('6 python')\n"
        "libc.puts(b'7 puts')\n"
        "os.write(1, b'8 write\\n')\n"
        "sys.stdout.write('9 write\\n')\n"
        "!echo 10 magic\n"
        "libc.printf(b'11 printf without a newline')\n"
    ).ok()
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [str(i) for i in range(1, 12)], result.stdout


def test_output_before_a_value_and_before_an_error(session):
    result = session.code("import os\nos.system('echo first')\n1/0")
    assert result.stdout == "first\n" and result.error["type"] == "ZeroDivisionError"
    assert result.text.index("first") < result.text.index("Traceback")


def test_nothing_of_one_cell_shows_in_the_next(session):
    session.code("print('earlier')").ok()
    assert session.code("print('later')").ok().stdout == "later\n"


def png_size(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[-8:-4] == b"IEND"
    return struct.unpack(">II", data[16:24])


def test_figures_become_images(session):
    result = session.code("import matplotlib.pyplot as plt\nimport numpy as np\nplt.plot(np.arange(10) ** 2)\nplt.title('squares')").ok()
    [(kind, data)] = result.images
    assert kind == "image/png"
    width, height = png_size(data)
    assert 200 < width <= 2000 and 200 < height <= 2000
    assert result.content[0]["type"] == "text"  # one text block, then the images
    assert [b["type"] for b in result.content].count("text") == 1
    assert result.display_outputs[0]["type"] == "image/png"
    assert "base64" not in result.text and len(result.text) < 1000


def test_results_contain_their_ending(session):
    fields = session.code("1").fields
    for name in ("success", "ending", "stdout", "stderr", "result", "error", "display_outputs", "duration_ms"):
        assert name in fields
    assert fields["success"] is True and fields["error"] is None and fields["display_outputs"] == []
