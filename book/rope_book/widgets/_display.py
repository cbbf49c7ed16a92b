"""How a widget is displayed: its view, and beside it what shows it where no script runs."""

from typing import Any

import anywidget
from IPython.display import display
from ipywidgets import DOMWidget

VIEW = "application/vnd.jupyter.widget-view+json"


class Displayed(anywidget.AnyWidget):
    """A widget whose output contains representations for places where no script runs."""

    def _beside(self) -> dict[str, str]:
        """Return these representations, by MIME type."""
        return {}

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the widget's view, and its representations."""
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data.update(self._beside())
        return bundle

    if hasattr(DOMWidget, "_ipython_display_"):  # ipywidgets 7, as in Colab, does not ask for the bundle

        def _ipython_display_(self, **kwargs: Any) -> None:
            """Display the widget's view, and its representations."""
            view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
            display({"text/plain": repr(self), VIEW: view} | self._beside(), raw=True)
