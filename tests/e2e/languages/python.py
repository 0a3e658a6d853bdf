"""Python's column."""

COLUMN = {
    # values and state
    "state": dict(set="kept = 41", get="kept + 1", value="42"),
    "last_value": dict(code="x = [1, 'two']\nx", value="[1, 'two']"),
    "no_value": dict(code="x = 5", comment="# nothing"),
    "definitions": dict(first="def f(): return 1\nclass C: n = 1", second="def f(): return 2\nclass C: n = 2", use="f(), C.n",
                        values=["(1, 1)", "(2, 2)"]),
    "unicode": dict(code="import sys\ngröße = 'größe → 日本 🎈'\nprint(größe)\nprint(größe, file=sys.stderr)\ngröße",
                    value="'größe → 日本 🎈'"),
    "line_ends": dict(code="\ufeffx = 1\r\nif x:\r\n\tx = 2\r\nx", value="2"),
    "long_source": dict(first="total = 0", line="total += 1", get="total", value="5000"),
    "big_value": dict(code="'z' * 5_000_000"),
    "asynchronous": dict(code="import asyncio\nasync def later(): return await asyncio.sleep(0, 7)\n"
                              "y = await later()\nassert y == 7\nlater()", value="7"),
    "packages": dict(code="import importlib.util, numpy\n"
                          "for name in ('pandas', 'matplotlib', 'scipy', 'sympy'): assert importlib.util.find_spec(name), name"),
    "queued": dict(first="import time\ncount = 0\ntime.sleep(0.1)", second="count += 1\ncount", value="5"),
    # errors
    "error": dict(code="def inner():\n    raise ValueError('the cause')\n\ndef outer():\n    inner()\n\nouter()", type="ValueError",
                  message="the cause", line="raise ValueError('the cause')"),
    "work_before_an_error": dict(code="print('before')\nhalf = 'done'\n1/0", get="half", value="'done'"),
    "syntax_error": dict(code="unrun = 1\nprint(1\nunrun = (2", type="SyntaxError", where="line 2", get="unrun"),
    "broken_value": dict(code="class Broken:\n    def __repr__(self): raise ValueError('no picture of me')\nBroken()",
                         words="no picture of me"),
    "warning": dict(code="import warnings\nwarnings.warn('careful')\n5", words="UserWarning: careful"),
    "recursion": dict(code="def f(n): return f(n + 1)\nf(0)", words="RecursionError"),
    "huge_allocation": dict(code="bytearray(10 ** 13)", words="MemoryError"),
    "keyboard": dict(code="input('name? ')", words="stdin is closed"),
    "exit_call": dict(code="import sys\nsys.exit(4)", words="SystemExit"),
    # time
    "endless_loop": dict(code="print('before')\nwhile True: pass"),
    "endless_wait": dict(code="import time\nprint('before')\ntime.sleep(100)"),
    "new_interpreter": dict(code="print('fresh')"),
    "variables": dict(code="import pandas\ndf = pandas.DataFrame({'a': range(1000)})\nwords = ['one', 'two']\nnothing = None",
                      variables={"df": ("pandas.DataFrame", "1000 x 1"), "words": ("list", "2"), "nothing": ("NoneType", None)}),
    "outliving": dict(code="import time\nprint('before')\ntime.sleep(100)"),
    "endless_child": dict(code="import os\nprint('before')\nos.system('sleep 100')\ntime.sleep(100)"),
    "cancelled": dict(code="print('before')\nwhile True: pass"),
    "deaf": dict(code="print('before')\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass"),
    # output
    "streams": dict(code="import sys\nprint('out')\nprint('err', file=sys.stderr)"),
    "order": dict(code="from IPython.display import display\nprint('one')\ndisplay({'a': 1})\nprint('two')\n42"),
    "order_of_streams": dict(code="import sys\nprint('one')\nprint('two', file=sys.stderr)\nprint('three')"),
    "progress_bar": dict(code="import sys\nfor i in range(601): sys.stderr.write(f'\\r{i // 6:3d}%|{\"#\" * (i // 30):20s}|')\nprint()"),
    "cleared_output": dict(code="from IPython.display import clear_output\nfor i in range(300):\n    clear_output(wait=True)\n"
                                "    print('step', i)"),
    "updated_display": dict(code="from IPython.display import display\nhandle = display('0', display_id=True)\nprint('after')\n"
                                 "for i in range(300): handle.update(str(i))"),
    "labels": dict(code="print('\\u27e6note\\u27e7 all is well \\u202e')\nprint('\\u27e6note\\u27e7')"),
    "full_text": dict(code="for i in range(5000): print('line', i)"),
    "child_output": dict(code="import os\nprint('one')\nos.system('echo child; echo \"child\\'s error\" >&2')\nprint('two')"),
    "long_line": dict(code="print('z' * 10_000_000)"),
    "many_lines": dict(code="for i in range(100_000): print('line', i)"),
    "junk": dict(code="import os\nos.write(1, bytes(range(256)));"),
    "nul_bytes": dict(code="print('a\\0\\0b')"),
    "ansi": dict(code="print('\\x1b[31mred\\x1b[0m')"),
    "late_child": dict(code="import subprocess\n"
                            "p = subprocess.Popen('until [ -e go ]; do sleep 0.02; done; echo late; touch went', shell=True)"),
    "late_output": dict(code="import os, threading, time\ndef late():\n    while not os.path.exists('go'): time.sleep(0.01)\n"
                             "    print('late')\nthread = threading.Thread(target=late)\nthread.start()", until="thread.join()"),
    "closed_streams": dict(code="import os\nos.close(1)\nos.close(2)"),
    "redirected_streams": dict(code="import io, sys\nsys.stdout = io.StringIO()\nsys.stderr = None"),
    # displays
    "image": dict(code="from PIL import Image\nImage.new('RGB', (30, 20), 'red')"),
    "figure": dict(code="import matplotlib.pyplot as plt\nplt.plot([1, 2])\n1/0"),
    "html": dict(code="from IPython.display import HTML, display\ndisplay(HTML('<b>bold</b>'))"),
    "json": dict(code="from IPython.display import JSON, display\ndisplay(JSON({'a': [1, 2]}))"),
    "display_before_an_error": dict(code="from IPython.display import HTML, display\ndisplay(HTML('<b>bold</b>'))\n1/0"),
    "big_html": dict(code="from IPython.display import HTML, display\ndisplay(HTML('h' * 3_000_000))"),
    "table": dict(code="import pandas\npandas.DataFrame({'name': ['a', 'b'], 'count': [1, 2]})"),
    # processes and memory
    "memory_bomb": dict(code="b = []\nwhile True: b.append(bytearray(10 ** 7))"),
    "child_memory_bomb": dict(code="import os\nos.system('head -c 2G /dev/zero | tail')"),
    "fork_bomb": dict(code="import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"),
    "forked_child": dict(code="import os\npid = os.fork()\n'parent' if pid else 'child'", value="'parent'"),
    "workers": dict(code="import multiprocessing\ndef work(n):\n    print('worker')\n    return n * n\n"
                         "with multiprocessing.get_context('fork').Pool(2) as pool: squares = pool.map(work, [2, 3])\nsquares",
                    value="[4, 9]"),
    "hidden_link": dict(code="import os\nos.system('ls -l /proc/self/fd; env');"),
    "hard_exit": dict(code="import os\nprint('last words')\nos._exit(3)"),
    "crash": dict(code="import ctypes\nctypes.string_at(0)"),
    "abort": dict(code="import os\nos.abort()"),
    "killed": dict(code="import os, time\nos.system(f'kill -9 {os.getpid()}')\ntime.sleep(100)"),
    # files and surroundings
    "surroundings": dict(code="import os\nprint(os.getcwd(), os.path.expanduser('~'), os.environ['USER'], os.environ['LANG'],\n"
                              "      *[name for name in os.environ if name.startswith('HUSK')], sep='\\n')"),
    "environment": dict(get="import os\nos.environ.get('GREETING', 'none')", fail="1/0", change="os.environ['GREETING'] = 'mine'",
                        values={"none": "'none'", "given": "'hello there'", "changed": "'mine'"}),
    "shared_files": dict(write="with open('cell.txt', 'w') as f: print('from a cell', file=f)",
                         read="print(open('terminal.txt').read(), end='')"),
    "terminal_beside": dict(code="import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('went')"),
    "terminal_language": dict(command="python3 -c 'print(6 * 7)'"),
    "deleted_workspace": dict(code="import shutil\nshutil.rmtree('/workspace', ignore_errors=True)",
                              write="with open('/workspace/cell.txt', 'w') as f: print('from a cell', file=f)"),
    "full_disk": dict(code="with open('big', 'wb') as f: f.write(b'x' * 110 * 2**20)", words="No space left"),
    "sessions": dict(set="import time\nmine = %d\ntime.sleep(0.2)", get="mine", values=["0", "1"]),
}
