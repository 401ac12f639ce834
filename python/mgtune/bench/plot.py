"""The tables as bars, with matplotlib."""

from __future__ import annotations

from pathlib import Path

from mgtune.bench.table import Table


def plot(tables: list[Table], path: Path) -> None:
    """Writes one chart per table. Raises ImportError if matplotlib is not installed."""
    from matplotlib import pyplot  # type: ignore[import-not-found, unused-ignore]

    figure, charts = pyplot.subplots(
        len(tables), 1, figsize=(9, 3.2 * len(tables)), squeeze=False, layout="constrained"
    )
    for chart, table in zip(charts[:, 0], tables, strict=True):
        names = table.names()
        height = 0.8 / len(names)
        for i, name in enumerate(names):
            places = [row + i * height for row in range(len(table.rows))]
            chart.barh(places, [row.times.get(name, 0) for row in table.rows], height, label=name)
        chart.set_yticks(
            [row + 0.4 - height / 2 for row in range(len(table.rows))],
            [row.case for row in table.rows],
        )
        chart.invert_yaxis()
        chart.set_xlabel(table.unit)
        chart.set_title(table.title)
        chart.legend()
    figure.savefig(path)
