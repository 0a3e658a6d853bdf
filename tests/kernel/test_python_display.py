"""The Python kernel over its link: MIME bundles, figures, pictures. Each test states one fact."""

import base64
import json
import struct

import pytest

RUNTIME = "python"


def png_size(text):
    return struct.unpack(">II", base64.b64decode(text)[16:24])


# Bundles


@pytest.mark.parametrize("method, value, mime, sent", [
    ("_repr_html_", "<b>x</b>", "text/html", "<b>x</b>"),
    ("_repr_markdown_", "*x*", "text/markdown", "*x*"),
    ("_repr_latex_", "$x$", "text/latex", "$x$"),
    ("_repr_svg_", "<svg/>", "image/svg+xml", "<svg/>"),
    ("_repr_png_", b"\x89PNG", "image/png", "iVBORw=="),
    ("_repr_jpeg_", b"\xff\xd8", "image/jpeg", "/9g="),
    ("_repr_json_", {"a": [1, None]}, "application/json", {"a": [1, None]}),
    ("_repr_mimebundle_", {"application/x+json": {"k": 1}, "text/html": "h"}, "application/x+json", {"k": 1}),
])
def test_rich_reprs(kernel, method, value, mime, sent):
    kernel.run(f"class R:\n    def __repr__(self): return 'plain'\n    def {method}(self, **kw): return {value!r}")
    bundle = kernel.run("R()").result
    assert bundle["text/plain"] == "plain" and bundle[mime] == sent


def test_users_own_formatter_for_a_plain_type(kernel):
    kernel.run("html = get_ipython().display_formatter.formatters['text/html']")
    kernel.run("html.for_type(int, lambda n: f'<b>{n}</b>')")
    assert kernel.run("5").result == {"text/plain": "5", "text/html": "<b>5</b>"}
    kernel.run("html.pop(int)")
    assert kernel.run("5").result == {"text/plain": "5"}


def test_display_objects_of_ipython(kernel):
    kernel.run("from IPython.display import *")
    cases = {
        "HTML('<b>x</b>')": "text/html", "Markdown('*x*')": "text/markdown", "Latex('$x$')": "text/latex",
        "SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')": "image/svg+xml", "JSON({'a': 1})": "application/json",
        "Image(data=b'\\x89PNG\\r\\n\\x1a\\n' + bytes(16), format='png')": "image/png",
        "Audio(data=[0.0] * 100, rate=8000)": "text/html",
        "Video(data=b'mp4', embed=True, mimetype='video/mp4')": "text/html",
        "Javascript('1')": "application/javascript",
    }
    for code, mime in cases.items():
        assert mime in kernel.run(code).result, code
        assert mime in kernel.run(f"display({code})").displays[0]["data"], code


@pytest.mark.parametrize("code, text", [
    ("Markdown('*x*')", "*x*"),
    ("Latex('$x$')", "$x$"),
    ("JSON({'a': [1, 'ü']})", '{"a": [1, "ü"]}'),
    ("SVG('<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"30\" height=\"20px\"><text>Jan</text> <text>Feb</text></svg>')",
     "<SVG drawing, 30 x 20> Jan Feb"),
    ("HTML('<style>b {}</style><h1>Sales &amp; <b>costs</b></h1><ul><li>one<li>two</ul><script>var x;</script>')",
     "Sales & costs\n\n- one\n- two"),
    ("HTML('<table><tr><th>a</th><th>b</th></tr>\\n<tr><td>1</td><td>2</td></tr></table>')", "a  b\n\n1  2"),
    ("HTML('<table><tr><td>1<td>2</table>')", "1  2"),
    ("HTML('<pre>x\\n  y</pre> 1 < 2 <!-- no --><img src=\"x\">')", "x\n  y\n 1 < 2 [picture]"),
    ("HTML('<b></b>')", "<IPython.core.display.HTML object>"),
])
def test_objects_that_only_name_their_type_show_their_text(kernel, code, text):
    kernel.run("from IPython.display import *")
    assert kernel.run(code).text == text
    assert kernel.run(f"display({code})").displays[0]["data"]["text/plain"] == text


def test_long_replacement_text_is_cut(kernel):
    assert len(kernel.run("from IPython.display import JSON\nJSON(list(range(100_000)))").text) < 11_000


@pytest.mark.parametrize("page", ["'<' * 2_000_000", "'<!--' * 500_000", "'<script>' * 250_000", "'<pre' * 500_000", "'&' * 2_000_000",
                                  "' \\n' * 1_000_000", "'<svg ' + 'width=' * 300_000", "'<td></td' * 200_000"])
def test_markup_of_any_kind_is_read_in_bounded_time(kernel, page):
    kernel.run("from IPython.display import *")
    for code in (f"HTML({page})", f"display({{'image/svg+xml': {page}}}, raw=True)"):
        outcome = kernel.run(code, seconds=20)
        data = outcome.result or outcome.displays[0]["data"]
        assert outcome.error is None and len(data["text/plain"]) < 11_000


def test_drawings_are_pictures(kernel):
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="20"><rect width="9" height="9"/></svg>'
    kernel.run(f"from IPython.display import SVG\nclass D:\n    def _repr_svg_(self): return {svg.format(30)!r}")
    for code in ("D()", f"SVG({svg.format(30)!r})"):
        assert png_size(kernel.run(code).result["image/png"]) == (30, 20)
    assert max(png_size(kernel.run(f"SVG({svg.format(90_000)!r})").result["image/png"])) <= 2000
    assert "image/png" not in kernel.run("display({'image/svg+xml': '<svg'}, raw=True)").displays[0]["data"]


def test_several_displays_in_order(kernel):
    displays = kernel.run("for i in range(5): display(i)").displays
    assert [d["data"]["text/plain"] for d in displays] == list("01234")


def test_prints_and_displays_keep_their_order(kernel):
    """The order is kept for a slow reader too, although stdout, stderr and the link are independent channels."""
    got = kernel.run("""
        import sys
        for i in range(50):
            print("out", i)
            print("err", i, file=sys.stderr)
            display(i)
    """)
    expected = [event for i in range(50) for event in (("stdout", f"out {i}\n"), ("stderr", f"err {i}\n"), ("display", str(i)))]
    assert [(kind, what["data"]["text/plain"] if kind == "display" else what.decode()) for kind, what in got.log] == expected


def test_display_id_and_update(kernel):
    first, second = kernel.run("h = display('one', display_id=True)\nh.update('two')").displays
    assert first["display_id"] == second["display_id"] and second["update"] is True and "update" not in first
    third = kernel.run("h.update('three')").displays[0]
    assert third["display_id"] == first["display_id"] and third["data"]["text/plain"] == "'three'"


def test_clear_output_keeps_its_place(kernel):
    outcome = kernel.run("""
        from IPython.display import clear_output
        print('a'); clear_output(); print('b'); clear_output(wait=True); print('c')
        """)
    assert outcome.stdout == "a\nb\nc\n" and outcome.stderr == ""
    kinds = [(kind, what.get("clear"), what.get("wait")) if kind == "display" else what for kind, what in outcome.log]
    assert kinds == [b"a\n", ("display", True, False), b"b\n", ("display", True, True), b"c\n"]


def test_printed_text_keeps_its_order(kernel):
    """The order is kept between the streams too, and around displays."""
    outcome = kernel.run("""
        import sys
        for i in range(20):
            print('out', i); print('err', i, file=sys.stderr); display(i)
        """)
    assert [kind for kind, _ in outcome.log] == ["stdout", "stderr", "display"] * 20


def test_a_widget_shows_its_last_state(kernel):
    """For example, a bar of tqdm.notebook is shown with its text at the end of the cell."""
    outcome = kernel.run("""
        class Bar:
            step = 0
            def _repr_mimebundle_(self, **_):
                return {"text/plain": f"{self.step}/600", "application/vnd.jupyter.widget-view+json": {"model_id": "m1"}}
        bar = Bar(); display(bar); bar.step = 600; print('done')
        """)
    first, last = outcome.displays
    assert first["data"]["text/plain"] == "0/600" and last["data"] == {"text/plain": "600/600"}
    assert last["update"] is True and last["display_id"] == first["display_id"]


def test_empty_bundle_is_not_sent(kernel):
    assert kernel.run("display({}, raw=True); display({'text/html': None}, raw=True)").log == []


def test_own_display_method(kernel):
    outcome = kernel.run("class D:\n    def _ipython_display_(self): display('from inside')\nD()")
    assert outcome.result is None and outcome.displays[0]["data"]["text/plain"] == "'from inside'"


def test_capture_magic_keeps_displays(kernel):
    assert kernel.run("%%capture c\ndisplay('x'); print('y')").log == []
    assert kernel.run("c.stdout, len(c.outputs)").text == r"('y\n', 1)"


def test_capture_magic_keeps_figures(kernel):
    kernel.run("import matplotlib.pyplot as plt")
    assert kernel.run("%%capture c\nplt.plot([1]); plt.show(); p = plt.plot([2])").log == []
    assert kernel.run("len(c.outputs)").text == "2"
    assert png_size(kernel.run("c.outputs[0].display()").displays[0]["data"]["image/png"])
    assert len(kernel.run("%%capture --no-display c\nplt.plot([1])").displays) == 1
    assert kernel.run("%%capture c\n1 / 0").error["type"] == "ZeroDivisionError"


def test_all_expressions_on_request(kernel):
    kernel.run("get_ipython().ast_node_interactivity = 'all'")
    outcome = kernel.run("1\n2\n3")
    kernel.run("get_ipython().ast_node_interactivity = 'last_expr'")
    assert [d["data"]["text/plain"] for d in outcome.displays] == ["1", "2"] and outcome.text == "3"


def test_hostile_text_becomes_valid(kernel):
    kernel.run("class H:\n    def __repr__(self): return '\\udc80\\0x'\n    def _repr_html_(self): return '\\ud800\\0'")
    assert kernel.run("H()").text == "\\udc80\N{REPLACEMENT CHARACTER}x"


def test_hostile_json_becomes_valid(kernel):
    kernel.run(r"value = {'nan': float('nan'), 'inf': [1e999], 'big': 2**70, 3: (1, b'x'), '\udc80\0': object}")
    sent = kernel.run("display({'application/json': value}, raw=True)").displays[0]["data"]["application/json"]
    assert sent["nan"] is None and sent["inf"] == [None] and sent["big"] == str(2**70) and sent["3"] == [1, "eA=="]
    code = "deep = []\nfor _ in range(900): deep = [deep]\ndisplay({'application/json': deep}, raw=True)"
    assert kernel.run(code).displays


def test_bundles_with_bytes_lists_and_numbers(kernel):
    code = r"""
        bundle = {'text/html': b'\xff<b>', 'image/gif': b'GIF8', 'text/plain': ['a\n', 'b'], 'x/none': None, 7: 'odd'}
        display(bundle | {'text/x': 5}, raw=True)
        """
    assert kernel.run(code).displays[0]["data"] == {
        "text/html": "\N{REPLACEMENT CHARACTER}<b>", "image/gif": "R0lGOA==", "text/plain": "a\nb", "text/x": "5"}


def test_huge_repr_is_cut(kernel):
    text = kernel.run("'x' * 50_000_000").text
    assert 1_000_000 < len(text) < 1_100_000 and "left out" in text
    assert text.startswith("'xxx") and text.endswith("xxx'")


def test_oversized_entries_are_dropped_with_a_note(kernel):
    code = "display({'text/html': '<i>' * 5_000_000, 'text/markdown': 'small', 'text/plain': 'p'}, raw=True); 'done'"
    outcome = kernel.run(code)
    sent = outcome.displays[0]["data"]
    assert "text/html" not in sent and sent["text/markdown"] == "small"
    assert sent["text/plain"].startswith("p\n[text/html of 15,0") and "export" in sent["text/plain"]
    assert outcome.text == "'done'"


def test_ten_megabytes_arrive(kernel):
    outcome = kernel.run("display({'text/html': 'x' * 10_000_000}, raw=True)")
    assert len(outcome.displays[0]["data"]["text/html"]) == 10_000_000


def test_repr_that_raises_is_the_cells_error(kernel):
    kernel.run("class B:\n    def __repr__(self): return 1 / 0")
    for code in ("B()", "[B()]"):
        outcome = kernel.run(code)
        assert outcome.error["type"] == "ZeroDivisionError" and outcome.result is None and outcome.stderr == ""
        assert "husk_kernel" not in outcome.error["traceback"] and "IPython" not in outcome.error["traceback"]


def test_rich_repr_that_raises_is_only_reported(kernel):
    outcome = kernel.run("""
        class B:
            def __repr__(self): return 'plain'
            def _repr_html_(self): return 1 / 0
        B()
        """)
    assert outcome.error is None and outcome.result == {"text/plain": "plain"} and "ZeroDivisionError" in outcome.stderr


# Matplotlib


def test_figure_is_shown_without_a_show_call(kernel):
    outcome = kernel.run("import matplotlib.pyplot as plt\nplt.plot([1, 2, 3]);")
    data = outcome.displays[0]["data"]
    width, height = png_size(data["image/png"])
    assert 400 < width <= 700 and 300 < height <= 500 and data["text/plain"].startswith("<Figure size 640x480")
    assert kernel.run("plt.get_fignums()").text == "[]"
    assert outcome.result is None and outcome.stderr == ""


def test_show_emits_at_its_place(kernel):
    outcome = kernel.run("for n in range(2):\n    print('before', n); plt.plot([n]); plt.show()\nprint('after')")
    assert len(outcome.displays) == 2
    kinds = [kind for kind, _ in outcome.log]
    assert kinds[0] == "stdout" and b"before 0" in outcome.log[0][1]


def test_show_with_an_explicit_agg_backend(kernel):
    outcome = kernel.run("""
        import matplotlib; matplotlib.use('Agg')
        plt.plot([1]); plt.show(); plt.plot([2]); plt.show(block=False)
        """)
    assert len(outcome.displays) == 2 and outcome.stderr == ""


def test_figure_as_last_expression_is_not_shown_twice(kernel):
    outcome = kernel.run("fig, ax = plt.subplots(); ax.plot([1]); fig")
    assert outcome.displays == [] and png_size(outcome.result["image/png"])


def test_displayed_figure_is_not_shown_twice(kernel):
    assert len(kernel.run("fig, ax = plt.subplots(); display(fig)").displays) == 1
    assert kernel.run("fig").result["image/png"]


def test_figure_is_shown_when_the_cell_fails(kernel):
    outcome = kernel.run("plt.plot([1]); 1/0")
    assert len(outcome.displays) == 1 and outcome.error["type"] == "ZeroDivisionError"


def test_figure_that_cannot_be_drawn(kernel):
    outcome = kernel.run("plt.title('$\\\\frac{$')")
    assert outcome.error["type"] == "ValueError" and kernel.run("1").error is None


def test_large_figures_fit(kernel):
    data = kernel.run("plt.figure(figsize=(60, 10), dpi=300); plt.plot([1]);").displays[0]["data"]["image/png"]
    assert max(png_size(data)) <= 2000


def test_heavy_figures_fit(kernel):
    code = """
        import numpy as np
        plt.figure(figsize=(15, 15)); plt.imshow(np.random.rand(1500, 1500, 3), interpolation='nearest');
        """
    data = kernel.run(code).displays[0]["data"]["image/png"]
    assert len(base64.b64decode(data)) <= 700_000


def test_bars_of_notebooks_are_text_without_widgets(kernel):
    outcome = kernel.run("from tqdm.notebook import tqdm, trange\nfor i in tqdm(range(3)): pass\nsum(trange(4))")
    assert outcome.text == "6" and "3/3" in outcome.stderr and "4/4" in outcome.stderr


def test_text_far_outside_the_figure(kernel):
    data = kernel.run("plt.plot([1]); plt.text(300, 1, 'far');").displays[0]["data"]["image/png"]
    assert max(png_size(data)) <= 2000


def test_figures_are_all_shown_and_closed(kernel):
    """The server decides how many of them an answer contains."""
    outcome = kernel.run("import matplotlib.pyplot as plt\nfor _ in range(25):\n    plt.figure(figsize=(1, 1)).text(0, 0, 'x')")
    assert len(outcome.displays) == 25 and kernel.run("plt.get_fignums()").text == "[]"


def test_figures_without_anything_in_them_are_not_shown(kernel):
    kernel.run("import matplotlib.pyplot as plt, pandas as pd")
    outcome = kernel.run("plt.figure(figsize=(3, 2))\npd.DataFrame({'a': [1, 2]}).plot(); plt.figure();")
    assert len(outcome.displays) == 1 and kernel.run("plt.get_fignums()").text == "[]"
    assert "image/png" not in kernel.run("display(plt.figure())").displays[0]["data"]
    outcome = kernel.run("plt.figure()")
    assert outcome.displays == [] and outcome.text == "<Figure size 640x480 with 0 Axes>" and "image/png" not in outcome.result


def test_figures_stay_pictures_when_svg_is_requested(kernel):
    kernel.run("from matplotlib_inline.backend_inline import set_matplotlib_formats\nset_matplotlib_formats('svg')")
    outcome = kernel.run("import matplotlib.pyplot as plt\nfig = plt.figure(); plt.plot([1]); fig")
    assert png_size(outcome.result["image/png"]) and "image/svg+xml" not in outcome.result and outcome.displays == []


def test_figure_of_an_interrupted_cell_is_shown(kernel):
    outcome = kernel.run_interrupted("import time, matplotlib.pyplot as plt\nplt.plot([1]); print('go'); time.sleep(60)")
    assert len(outcome.displays) == 1 and outcome.error["type"] == "KeyboardInterrupt"
    assert kernel.run("1").displays == []


def test_figure_that_takes_too_long_in_an_interrupted_cell(kernel):
    outcome = kernel.run_interrupted("""
        import time, matplotlib.pyplot as plt
        from matplotlib.artist import Artist
        class Slow(Artist):
            def draw(self, renderer):
                print('drawing')
                while True: pass
        plt.gca().add_artist(Slow()); plt.figure().text(0, 0, 'second')
        print('go'); time.sleep(60)
        """)
    assert outcome.error["type"] == "KeyboardInterrupt" and "drawing" in outcome.stdout
    assert kernel.run("1").displays == []


def test_missing_glyphs_are_reported_once(kernel):
    outcome = kernel.run("import matplotlib.pyplot as plt\nfor _ in range(2): plt.figure(); plt.title('\\U000e0f00')")
    assert len(outcome.displays) == 2 and outcome.stderr.count("Glyph") == 1, outcome.stderr
    assert outcome.stderr.startswith("UserWarning: Glyph 921344 ") and "husk_kernel" not in outcome.stderr
    assert kernel.run("plt.title('\\U000e0f00');").stderr.count("Glyph") == 1


def test_matplotlib_in_a_child_process(kernel):
    code = """
        import subprocess, sys
        program = 'import matplotlib.pyplot as p; p.plot([1]); p.show(); p.savefig("c.png")'
        subprocess.run([sys.executable, '-c', program]).returncode
        """
    assert kernel.run(code).text == "0"


def test_font_cache_is_copied_on_import(fresh_kernel, tmp_path):
    (tmp_path / "prebuilt").mkdir()
    (tmp_path / "prebuilt/fontlist-v0.json").write_text("{}")
    fresh_kernel.run(f"import husk_kernel.figures as f; f.FONT_CACHE = {str(tmp_path / 'prebuilt')!r}")
    fresh_kernel.run("import matplotlib")
    assert (tmp_path / ".cache/matplotlib/fontlist-v0.json").read_text() == "{}"


FIGURE, FRAME = "application/vnd.husk.figure+json", "application/vnd.husk.frame+json"


def test_figures_carry_a_description(kernel):
    outcome = kernel.run("""
        import matplotlib.pyplot as plt
        fig, (left, right) = plt.subplots(1, 2)
        fig.suptitle('Both')
        left.plot([1, 2, 3], label='growth'); left.scatter([1, 2], [3, 4]); left.set(title='Left', xlabel='year', yscale='log')
        left.legend()
        right.bar(['a', 'b'], [1, 2], label='counts'); right.imshow([[1, 2], [3, 4]])
        """)
    about = outcome.displays[0]["data"][FIGURE]
    left, right = about["axes"]
    assert about["kind"] == "matplotlib" and about["title"] == "Both"
    assert left["title"] == "Left" and left["x"]["label"] == "year" and left["y"]["scale"] == "log" and left["legend"] == ["growth"]
    assert left["series"] == [{"type": "line", "label": "growth", "points": 3}, {"type": "scatter", "points": 2}]
    assert right["series"] == [{"type": "bar", "label": "counts", "count": 2}, {"type": "image", "shape": [2, 2]}]
    assert kernel.run("fig").result[FIGURE] == about


@pytest.mark.parametrize("code, kind", [
    ("plt.hist([1, 2, 2, 3])", "bar"), ("plt.pie([1, 2])", "pie"), ("plt.fill_between([1, 2], [3, 4])", "area"),
    ("plt.errorbar([1, 2], [3, 4], yerr=1)", "errorbar"), ("plt.stem([1, 2])", "stem"), ("plt.boxplot([1, 2, 3])", "line"),
    ("plt.contourf([[1, 2], [3, 4]])", "contour"), ("plt.pcolormesh([[1, 2], [3, 4]])", "mesh"),
    ("plt.figure().add_subplot(projection='3d').scatter([1, 2], [3, 4], [5, 6])", "scatter"),
])
def test_kinds_of_series(kernel, code, kind):
    about = kernel.run(f"import matplotlib.pyplot as plt\n{code};").displays[0]["data"][FIGURE]
    assert about["axes"][0]["series"][0]["type"] == kind


def test_descriptions_of_figures_are_bounded(kernel):
    code = """
        import matplotlib.pyplot as plt
        plt.subplots(4, 5)
        for n in range(200): plt.plot([n], label='x' * 500)
        plt.title('t' * 500);
        """
    about = kernel.run(code).displays[0]["data"][FIGURE]
    assert len(about["axes"]) == 13 and about["axes"][-1] == {"more": 1} and len(json.dumps(about)) < 10_000


def test_tables_carry_a_description(kernel):
    kernel.run("import pandas as pd\ndf = pd.DataFrame({'name': ['a', 'b'], 'count': [1, 2], 3: [1.5, None]})")
    assert kernel.run("df").result[FRAME] == {
        "kind": "DataFrame", "shape": [2, 3], "index": {"kind": "RangeIndex", "dtype": "int64"},
        "columns": [{"name": "name", "dtype": "object"}, {"name": "count", "dtype": "int64"}, {"name": "3", "dtype": "float64"}]}
    assert kernel.run("display(df['count'])").displays[0]["data"][FRAME]["columns"] == [{"name": "count", "dtype": "int64"}]
    wide = kernel.run("pd.DataFrame({f'{i}' * 999: [i] for i in range(3000)})").result[FRAME]
    assert len(wide["columns"]) == 51 and wide["columns"][-1] == {"more": 2950} and len(json.dumps(wide)) < 10_000
    assert kernel.run("df.set_index(['name', 'count'])").result[FRAME]["index"]["names"] == ["name", "count"]


def test_styler_is_its_table(kernel):
    text = kernel.run("import pandas as pd\n"
                      "pd.DataFrame({'share': [0.5, 0.25], 'name': ['a', 'bcd']}).style.format({'share': '{:.0%}'})").text
    assert [line.split() for line in text.splitlines()] == [["share", "name"], ["0", "50%", "a"], ["1", "25%", "bcd"]]
    assert len({len(line) for line in text.splitlines()}) == 1


# Other libraries


def test_pillow_image(kernel):
    bundle = kernel.run("from PIL import Image as I\nI.new('RGB', (30, 20), 'red')").result
    assert png_size(bundle["image/png"]) == (30, 20) and "image/jpeg" not in bundle


def test_huge_pillow_image_is_scaled(kernel):
    bundle = kernel.run("""
        import numpy as np
        I.fromarray(np.random.randint(0, 255, (3000, 4000, 3), dtype='uint8'))
        """).result
    picture = base64.b64decode(bundle.get("image/png") or bundle["image/jpeg"])
    assert len(picture) <= 700_000


def test_transparent_picture_that_is_too_heavy_for_png(kernel):
    bundle = kernel.run("I.fromarray(np.random.randint(0, 255, (900, 900, 4), dtype='uint8'))").result
    assert len(base64.b64decode(bundle["image/jpeg"])) <= 700_000


def test_pandas_table_beside_text(kernel):
    bundle = kernel.run("import pandas as pd\npd.DataFrame({f'column{i}': [i] for i in range(15)})").result
    assert "<table" in bundle["text/html"] and all(f"column{i}" in bundle["text/plain"] for i in range(15))


def test_numpy_summarises(kernel):
    assert "..." in kernel.run("np.zeros(1_000_000)").text


# Charts


def test_plotly_is_its_mime_type_and_a_page(kernel):
    outcome = kernel.run("""
        import numpy, plotly.graph_objects as go
        fig = go.Figure(go.Scatter(x=numpy.array([1, 2], 'i1'), y=numpy.array([1.5, 2]), mode='lines', name='a'))
        fig.update_layout(title='Sales', xaxis_title='year'); fig.show(); fig
        """)
    for display in outcome.displays:
        assert display["data"]["application/vnd.plotly.v1+json"]["data"][0]["type"] == "scatter"
        assert "<script" in display["data"]["text/html"] and '"type":"scatter"' in display["data"]["text/html"]
        assert display["data"]["text/plain"] == "Plotly figure: Sales\n  axes: x: year\n  scatter lines 'a', 2 points"
        assert display["data"][FIGURE]["series"] == [{"type": "scatter", "mode": "lines", "label": "a", "points": 2}]
    assert len(outcome.displays) == 2  # plotly itself displays a figure that is the last value of a cell
    assert len(json.dumps(outcome.log, default=str)) < 200_000


def test_plotly_is_a_picture_where_it_can_be_drawn(fresh_kernel):
    fresh_kernel.run("""
        import base64, importlib.machinery, sys, types, plotly.graph_objects as go, plotly.io
        def draw(figure, format, validate): return base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ')
        kaleido = types.ModuleType('kaleido'); kaleido.__spec__ = importlib.machinery.ModuleSpec('kaleido', None)
        sys.modules['kaleido'], plotly.io.to_image = kaleido, draw
        """)
    data = fresh_kernel.run("go.Figure(go.Bar(y=[1])).show()").displays[0]["data"]
    assert png_size(data["image/png"]) == (1, 1) and data["text/plain"] == "Plotly figure\n  bar, 1 points"
    fresh_kernel.run("def draw(*args, **more): raise OSError('no browser')\nplotly.io.to_image = draw")
    assert "image/png" not in fresh_kernel.run("go.Figure(go.Bar(y=[1])).show()").displays[0]["data"]


def test_altair_is_a_summary_and_a_picture_where_it_can_be_drawn(kernel):
    code = """
        import altair as alt, pandas as pd
        base = alt.Chart(pd.DataFrame({'x': [1, 2], 'y': [3, 4]}), title='Both').encode(x='x', y='mean(y)')
        base.mark_line() + base.mark_point()
        """
    bundle = kernel.run(code).result
    assert bundle["text/plain"] == "Altair chart: Both\n  line x=x y=y, 2 points\n  point x=x y=y, 2 points"
    assert min(png_size(bundle["image/png"])) > 100
    kernel.run("import sys; sys.modules['vl_convert'] = None")
    bundle = kernel.run("base.mark_bar()").result
    assert "image/png" not in bundle and bundle[FIGURE]["series"][0]["type"] == "bar"


def test_altair_is_a_page(kernel):
    html = kernel.run("import altair as alt, pandas as pd\n"
                      "alt.Chart(pd.DataFrame({'x': [1]})).mark_point().encode(x='x')").result["text/html"]
    assert "vega-embed" in html and '"mark": {"type": "point"}' in html


BOKEH = ("from bokeh.io import output_notebook\nfrom bokeh.layouts import column, row\n"
         "from bokeh.plotting import figure, show\n"
         "p = figure(height=200); p.scatter([1, 2], [3, 4])\n")


@pytest.mark.parametrize("code", ["show(p)", "output_notebook(); show(p)", "show(row(p))", "save = show; save(column(p))"])
def test_bokeh_shows_pages(kernel, code):
    outcome = kernel.run(BOKEH + code)
    assert outcome.error is None and not outcome.stderr, outcome
    html = outcome.displays[0]["data"]["text/html"]
    assert html.startswith("<!DOCTYPE html>") and "Scatter" in html and len(html) < 50_000


def test_bokeh_figure_as_last_value(kernel):
    kernel.run(BOKEH)
    for code in ("show(p); p", "p", "row(p)"):
        bundle = kernel.run(code).result
        assert "Scatter" in bundle["text/html"] and "(id=" in bundle["text/plain"]
    assert "server" in kernel.run("show(lambda doc: None)").error["message"]
