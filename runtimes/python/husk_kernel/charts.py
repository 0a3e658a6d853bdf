"""Libraries whose charts are web pages: every chart is sent as one html document that loads its library's script from
the web.

Altair does so by itself. Plotly and Bokeh expect a browser, or a notebook that has already loaded the script.
Charts of Plotly and Altair are also sent as pictures if the session has a program that draws them (kaleido,
vl-convert). The text of these charts is a summary.
"""

import importlib.util
import io
from types import SimpleNamespace

from . import chart_data, describe, vega_data

PLOTLY = "application/vnd.plotly.v1+json"


class Charts:
    def __init__(self, display):
        self._display = display

    def on_import(self, hooks):
        hooks["plotly.io._renderers"] = _adapt_plotly
        hooks["bokeh.io"] = self._adapt_bokeh

    @staticmethod
    def format_bokeh(chart):
        """The html of a figure or layout."""
        from bokeh.embed import file_html
        from bokeh.resources import CDN

        return file_html(chart, CDN, title="Bokeh", _always_new=True)  # works for a chart that was shown before, too

    def _adapt_bokeh(self, module):
        hook = module.notebook.install_notebook_hook
        hook("jupyter", _load_nothing, self._show_bokeh, _refuse_server, overwrite=True)
        module.state.curstate().output_notebook("jupyter")  # so that show() displays the chart without further settings

    def _show_bokeh(self, chart, _state, _handle):
        self._display({"text/html": self.format_bokeh(chart), "text/plain": repr(chart)})


def complete(value, data):
    """Adds a description of a value to its bundle."""
    described = describe.part(value)
    if described is None:
        return
    mime, about = described
    data[mime] = about
    add_values(data, chart_data.matplotlib_chart, value if about["kind"] == "matplotlib" else None)
    if about["kind"] == "altair":
        add_values(data, lambda chart: vega_data.altair_chart(chart.to_dict()), value)
        data["text/plain"] = describe.summary(about)
        _add_picture(data, "vl_convert", lambda: _draw_altair(value))


def add_values(data, extract, figure):
    """Add the values that a figure shows to its bundle, if they can be determined."""
    try:
        chart = extract(figure) if figure is not None else None
    except Exception:  # a figure of an unusual kind; it is shown anyway
        chart = None
    if chart:
        data[chart_data.CHART] = chart


def complete_plotly(data):
    """Adds a description and the values to a bundle that Plotly itself displays."""
    figure = data.get(PLOTLY)
    if not isinstance(figure, dict) or describe.FIGURE in data:
        return data
    try:
        about = describe.plotly_figure(figure)
    except Exception:
        return data
    data = {**data, describe.FIGURE: about, "text/plain": describe.summary(about)}
    add_values(data, chart_data.plotly_chart, figure)
    _add_picture(data, "kaleido", lambda: _draw_plotly(figure))
    return data


def _add_picture(data, drawer, draw):
    """Adds a picture if it can be drawn: kaleido may lack a browser, or a font may be missing."""
    if "image/png" in data or importlib.util.find_spec(drawer) is None:
        return
    try:
        data["image/png"] = draw()
    except Exception:
        pass


def _draw_altair(chart):
    out = io.BytesIO()
    chart.save(out, format="png")
    return out.getvalue()


def _draw_plotly(figure):
    from plotly.io import to_image

    return to_image(figure, format="png", validate=False)


def _adapt_plotly(module):
    # Sends a figure as Plotly's MIME type and as a page. Plotly's default sends 4 MB of script before the first figure.
    module.renderers.default = "plotly_mimetype+colab"
    # Plotly requires nbformat but only checks its version, so a placeholder is enough.
    module.nbformat = module.nbformat or SimpleNamespace(__version__="5.0.0")


def _load_nothing(*_args):
    """Replaces the loading of scripts by Bokeh's output_notebook(), because each page loads the script itself."""


def _refuse_server(*_args, **_more):
    raise RuntimeError("Bokeh applications need a server that the reader can reach; show a figure or a layout instead")
