"""Matplotlib: figures become pictures at plt.show() and at the end of the cell, automatically.

The backend is plain Agg. MPLBACKEND in runtime.json sets it, so child processes can draw too. Only plt.show is
replaced, because no other backend can show anything here. Matplotlib is not imported before the user imports it.
"""

import glob
import io
import os
import shutil
import sys
import warnings
import weakref

from . import chart_data, charts, describe, images

FONT_CACHE = "/opt/husk/matplotlib"  # made when the image was built
DPI_MIN = 20
PADDING = 0.1  # inches, as savefig.pad_inches


class Figures:
    def __init__(self, publish):
        self._publish = publish
        self._shown = weakref.WeakSet()  # displayed or returned in this cell: not shown again at its end
        self._told = set()  # warnings of this cell
        self.drew = False  # in this cell

    def on_import(self, hooks):
        hooks["matplotlib"] = lambda module: _copy_font_cache(module.get_cachedir())
        hooks["matplotlib.pyplot"] = self._take_over_show
        hooks["IPython.core.pylabtools"] = _keep_png

    def _take_over_show(self, pyplot):
        def show(*_args, **_kwargs):
            """Show all open figures now, and close them."""
            self.show_open()

        pyplot.show = show

    def format_png(self, figure):
        """IPython's formatter for display(figure) and a figure as the last value. As in Jupyter, a blank figure is
        shown only as text.
        """
        if _is_blank(figure):
            return None
        self.drew = True
        self._shown.add(figure)
        return self._draw(figure)

    def start_cell(self):
        """Called before a cell if the cell before it drew something."""
        self.drew = False
        self._shown.clear()
        self._told.clear()

    def show_open(self):
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            try:
                self._show(figure)
            finally:
                pyplot.close(figure)

    def _show(self, figure):
        if figure in self._shown or _is_blank(figure):
            return
        mime, about = describe.part(figure) or (describe.FIGURE, None)
        data = {"image/png": self._draw(figure), "text/plain": repr(figure), mime: about}
        charts.add_values(data, chart_data.matplotlib_chart, figure)
        self._publish(data)

    def _draw(self, figure):
        """Draw a figure. Warnings (a glyph that no font has) are shown once per cell, without a line of the kernel."""
        self.drew = True
        with warnings.catch_warnings(record=True) as caught:
            data = png(figure)
        for warning in caught:
            text = f"{warning.category.__name__}: {warning.message}"
            if text not in self._told:
                self._told.add(text)
                print(text, file=sys.stderr)
        return data

    def drop(self):
        """Close open figures without showing them."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close("all")

    def finish_cell(self):
        self.show_open()


def _is_blank(figure):
    """True if nothing was drawn in the figure, as with plt.figure() before df.plot(), which creates its own figure."""
    return not (figure.axes or figure.texts or figure.images or figure.lines or figure.patches or figure.artists or figure.legends
                or figure.subfigs or figure._suptitle)


def png(figure):
    """Return the figure with a tight frame, at its own resolution or at a lower one if it would be too large."""
    frame, size = _tight_frame(figure)
    dpi = min(figure.dpi, images.PIXELS_MAX / max(*size, 0.1))
    while True:
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=dpi, bbox_inches=frame)
        data = out.getvalue()
        scale = min(images.PIXELS_MAX / max(*images.png_size(data), 1), (images.BYTES_MAX / len(data)) ** 0.5)
        if scale >= 1 or dpi <= DPI_MIN:
            return data
        dpi = max(DPI_MIN, dpi * scale * 0.95)


def _tight_frame(figure):
    """Return the area of bbox_inches="tight", or of the whole figure if the former is absurd (text far outside)."""
    figure.draw_without_rendering()
    whole = tuple(figure.get_size_inches())
    frame = figure.get_tightbbox().padded(PADDING)
    if 0 < frame.width < 3 * whole[0] and 0 < frame.height < 3 * whole[1]:
        return frame, (frame.width, frame.height)
    return None, whole


def _keep_png(pylabtools):
    """Ignore set_matplotlib_formats("svg"), which is common in notebooks: it would send markup instead of a picture."""
    pylabtools.select_figure_formats = lambda _shell, _formats, **_options: None


def _copy_font_cache(folder):
    for path in glob.glob(os.path.join(FONT_CACHE, "fontlist-*.json")):
        target = os.path.join(folder, os.path.basename(path))
        if not os.path.exists(target):
            shutil.copyfile(path, target)
