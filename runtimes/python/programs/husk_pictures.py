"""matplotlib's backend for programs that `husk run` starts: show() saves each open figure where husk run looks for
pictures.
"""

import itertools
import os

from matplotlib import _pylab_helpers
from matplotlib.backends.backend_agg import FigureCanvasAgg, FigureManagerBase

_numbers = itertools.count(1)


class FigureManager(FigureManagerBase):
    @classmethod
    def pyplot_show(cls, *, block=None):
        folder = os.environ.get("HUSK_PICTURES")
        for manager in _pylab_helpers.Gcf.get_all_fig_managers():
            if folder:
                os.makedirs(folder, exist_ok=True)
                # The process ID keeps the pictures of forked children apart.
                manager.canvas.figure.savefig(os.path.join(folder, f"{os.getpid():07d}-{next(_numbers):06d}.png"), bbox_inches="tight")
        _pylab_helpers.Gcf.destroy_all()


class FigureCanvas(FigureCanvasAgg):
    manager_class = FigureManager
