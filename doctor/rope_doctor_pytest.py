"""`pytest --rotation module:function` runs the test vectors on a rotation, one test per case.

pytest imports all installed plugins. This one is a separate module, outside the package, so that `rope_doctor` is
imported only if the option is used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("rotation", "test vectors for rotary position embedding (rope-doctor)")
    group.addoption("--rotation", metavar="MODULE:FUNCTION", help="run the test vectors on this function")
    group.addoption(
        "--rotation-width", default="float64", metavar="FORMAT", help="its number format: float64, float32, …"
    )
    group.addoption(
        "--rotation-cases", default="rotate", metavar="FILE", help="the cases: rotate, batch, axes or shift"
    )


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add one test per case if the option is used."""
    name = config.getoption("--rotation")
    if name:
        items += Vectors.from_parent(session, name="rotation", nodeid="rotation", of=name).collect()


class Vectors(pytest.Collector):
    """The cases in one file, run on one function."""

    def __init__(self, *, of: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.of = of

    def collect(self) -> list[pytest.Item]:
        """Import the function, and make one test per case; UsageError if it cannot be called."""
        from rope_doctor.command.importing import load_function
        from rope_doctor.vectors import runner

        width, cases = (self.config.getoption(f"--rotation-{option}") for option in ("width", "cases"))
        sys.path.insert(0, str(self.config.invocation_params.dir))
        try:
            function = load_function(self.of)
            runner.check_call(function, width, cases)
        except ValueError as error:
            raise pytest.UsageError(f"--rotation: {error}") from None
        return [
            Case.from_parent(
                self, name=case["name"], run=lambda case=case: runner.run_case(function, case, width, cases)
            )
            for case in runner.load(cases)
        ]


class Case(pytest.Item):
    """A test of one case."""

    def __init__(self, *, run: Callable[[], Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.run = run

    def runtest(self) -> None:
        """Run the case."""
        result = self.run()
        if not result.passed:
            raise MissedError(f"{result.seen}\npossible mistakes: {', '.join(result.catches) or '-'}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the difference and the mistakes that could explain it, or any other error's traceback."""
        if isinstance(excinfo.value, MissedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return a failure's heading."""
        return self.path, None, f"rotation: {self.name}"


class MissedError(Exception):
    """A result that differs from the expected one."""
