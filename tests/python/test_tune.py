"""What tune() shows while it measures, and the budgets that it takes."""

from __future__ import annotations

import io
import sys
from types import ModuleType
from typing import Any

import pytest

from mgtune.torch import _tune


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_a_line_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    moments = iter([0.0, 15.0, 120.0])
    monkeypatch.setattr(_tune.time, "monotonic", lambda: next(moments))
    progress = _tune._Progress(60, 4)
    progress.show()
    half = "tuning 4 problems [#######                       ] 15 of 60 s"
    assert terminal.getvalue() == "\r" + half
    progress.show()
    assert terminal.getvalue().endswith("[" + 30 * "#" + "] 120 of 60 s")
    progress.end()
    assert terminal.getvalue().endswith("\r" + " " * 79 + "\r")


def test_a_log_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    progress = _tune._Progress(60, 4)
    progress.show()
    progress.end()
    assert log.getvalue() == ""


@pytest.mark.parametrize("is_running", [True, False])
def test_a_notebook_has_a_cell_that_changes(
    is_running: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []

    class Handle:
        def update(self, data: dict[str, str], raw: bool) -> None:
            assert raw
            texts.append(data["text/plain"])

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Handle:
        assert raw and display_id
        texts.append(data["text/plain"])
        return Handle()

    ipython, its_display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: object() if is_running else None  # type: ignore[attr-defined]
    its_display.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", its_display)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    moments = iter([0.0, 0.0, 30.0])
    monkeypatch.setattr(_tune.time, "monotonic", lambda: next(moments))
    progress = _tune._Progress(60, 2)
    progress.show()
    progress.end()
    bars = [text[text.index("[") :] for text in texts]
    assert bars == (["[" + 30 * " " + "] 0 of 60 s", "[" + 15 * "#" + 15 * " " + "] 30 of 60 s"] if is_running else [])


@pytest.mark.parametrize(("budget", "seconds"), [("90s", 90), ("1.5m", 90), ("1h", 3600), (2, 2), (0.5, 0.5)])
def test_budgets(budget: Any, seconds: float) -> None:
    assert _tune._seconds(budget) == seconds


@pytest.mark.parametrize("budget", ["soon", "", "5", "0s", "-1s", 0, -1, float("nan"), float("inf")])
def test_what_is_no_budget(budget: Any) -> None:
    with pytest.raises(ValueError, match="budget is"):
        _tune._seconds(budget)


def test_the_report_names_what_was_not_measured() -> None:
    row = _tune.Tuned("rmsnorm.forward", "rows=5 hidden=64", 2.0, 1.0, "row/BLOCK=64")
    report = _tune.TuneReport([row], ["swiglu.forward rows=5 hidden=32"], is_emulation=True)
    lines = str(report).split("\n")
    assert lines[1].split() == ["rmsnorm.forward", "rows=5", "hidden=64", "2.00", "1.00", "2.00x"]
    assert lines[2].startswith("1 problem was not measured") and "larger budget" in lines[2]
    assert lines[3:] == ["  swiglu.forward rows=5 hidden=32", "emulation: these times say nothing about a GPU"]
    assert str(_tune.TuneReport([], ["a.b m=1", "a.b m=2"])).startswith("2 problems were not measured")
    assert "patch(model) first" in str(_tune.TuneReport())
