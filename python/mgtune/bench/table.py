"""The results of a benchmark as rows, a text table and JSON."""

from __future__ import annotations

from dataclasses import dataclass, field

OURS = "mgtune"


@dataclass
class Row:
    """One case and the time of each candidate. The candidate `mgtune` is ours."""

    case: str
    times: dict[str, float]


@dataclass
class Table:
    """One benchmark."""

    title: str
    unit: str
    is_rate: bool = False  # larger values are better
    rows: list[Row] = field(default_factory=list)

    def names(self) -> list[str]:
        return list(dict.fromkeys(name for row in self.rows for name in row.times))

    def __str__(self) -> str:
        names = self.names()
        lines = [["case", *(f"{name} ({self.unit})" for name in names)]]
        lines[0] += [f"{self._against(name)}" for name in names if name != OURS]
        for row in self.rows:
            cells = [row.case]
            cells += [f"{row.times[name]:.2f}" if name in row.times else "-" for name in names]
            for name in names:
                if name == OURS:
                    continue
                speedup = self._speedup(row, name)
                cells.append("-" if speedup is None else f"{speedup:.2f}x")
            lines.append(cells)
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        text = "\n".join(
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        )
        return f"{self.title}\n{text}"

    def _against(self, name: str) -> str:
        return f"{OURS}/{name}" if self.is_rate else f"{name}/{OURS}"

    def _speedup(self, row: Row, name: str) -> float | None:
        """How many times faster ours is. None if one of the two does not do this at all."""
        ours, theirs = row.times.get(OURS, 0.0), row.times.get(name, 0.0)
        if ours == 0 or theirs == 0:
            return None
        return ours / theirs if self.is_rate else theirs / ours

    def document(self) -> dict[str, object]:
        rows = [
            {
                "case": row.case,
                "values": row.times,
                "speedup_over": {n: self._speedup(row, n) for n in row.times if n != OURS},
            }
            for row in self.rows
        ]
        return {"title": self.title, "unit": self.unit, "rows": rows}
