"""Widgets (ipywidgets, the bars of tqdm.notebook): they cannot be drawn here, so the text that they have at the end of
the cell is shown.
"""

MIME = "application/vnd.jupyter.widget-view+json"
SHOWN_MAX = 20


class Widgets:
    def __init__(self, display):
        self._display = display
        self.shown = {}  # model id -> the widget and its text

    def made(self, widget, data):
        """Called when a widget's bundle was created, for display() or as a result."""
        if len(self.shown) < SHOWN_MAX and (model := _model_of(data)):
            self.shown[model] = widget, data.get("text/plain")

    def id_of(self, data):
        """Return a display id for a widget's bundle, so that it can be updated; None for any other bundle."""
        model = _model_of(data)
        return f"widget-{model}" if model in self.shown else None

    def finish_cell(self, formatted):
        shown, self.shown = self.shown, {}
        for model, (widget, text) in shown.items():
            try:
                data = formatted(widget)
            except Exception:  # a widget that was closed, or a user's object that fails
                continue
            if data.get("text/plain") not in (None, text):
                self._display({"text/plain": data["text/plain"]}, display_id=f"widget-{model}", update=True)
        self.shown = {}


def on_import(hooks):
    hooks["tqdm.notebook"] = _adapt_tqdm


def _adapt_tqdm(module):
    """Without ipywidgets, which the image does not have, use the terminal's progress bars for the notebook's."""
    if module.IProgress is None:
        import tqdm.std

        module.tqdm = module.tqdm_notebook = tqdm.std.tqdm
        module.trange = module.tnrange = tqdm.std.trange


def _model_of(data):
    view = data.get(MIME)
    return str(view.get("model_id")) if isinstance(view, dict) else None
