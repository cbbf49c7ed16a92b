"""Capture what a function prints, displays and returns, for an Output widget."""

from collections.abc import Callable
from typing import Any

from IPython.display import display
from IPython.utils.capture import capture_output


def outputs_of(function: Callable[[Any], Any], figure: Any) -> list[dict[str, Any]]:
    """Call a function with a figure; return what it prints, displays and returns, or the message of its exception.

    All outputs are collected, so that the caller can replace the previous outputs at once. If the front end cleared
    and refilled the Output widget instead, it would be empty in between.

    >>> outputs_of(print, 3)
    [{'output_type': 'stream', 'name': 'stdout', 'text': '3\\n'}]
    """
    with capture_output() as seen:
        try:
            shown = function(figure)
            if shown is not None:
                display(shown)
        except Exception as error:  # a student's function may raise anything
            print(f"{type(error).__name__}: {error}")
    printed = {"output_type": "stream", "name": "stdout", "text": seen.stdout}
    rich = [
        {"output_type": "display_data", "data": each.data, "metadata": each.metadata} for each in seen.outputs
    ]
    return [printed] * bool(seen.stdout) + rich
