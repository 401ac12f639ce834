#!/usr/bin/env python3
"""Bar charts of the tables in results/, made from the pages that have the tables.

  plots.py results/h200/norms.md -o FOLDER     writes the charts of a page as SVG files

The site shows each chart below its table. The bars are lengths of ratios on a logarithmic scale that begins at 1, so a bar to the
left of the line means slower, and twice as fast is as long as twice as slow.
"""
import argparse
import html
import math
import pathlib
import re

from github_markdown import fenced

_TICKS = [0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24]
_WIDTH, _ROW, _BAR = 820, 20, 13  # px


def chart(title, rows, series, unit=""):
    """An SVG. `rows` are (label, [ratio or None per series]); `series` names them, and is not drawn if it is one."""
    values = [value for _, row in rows for value in row if value]
    low, high = min(1, *values) / 1.04, max(1.02, *values) * 1.12
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    while len(ticks) > 9:
        ticks = [tick for i, tick in enumerate(ticks) if i % 2 == ticks.index(1) % 2]

    left_of_bars = 20 + 6.6 * max(len(label) for label, _ in rows)

    def x(value):
        return left_of_bars + (_WIDTH - left_of_bars - 50) * math.log(value / low) / math.log(high / low)

    top = 22 if len(series) > 1 else 4
    row_height = max(_ROW, _BAR * len(series) + 7)
    bottom = top + row_height * len(rows)
    parts = [f'<svg viewBox="0 0 {_WIDTH} {bottom + 22}" role="img" aria-label="{html.escape(title)}" xmlns="http://www.w3.org/2000/svg">']
    for tick in ticks:
        name = "tick one" if tick == 1 else "tick"
        parts.append(f'<line class="{name}" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top}" y2="{bottom}"/>')
        parts.append(f'<text class="middle" x="{x(tick):.1f}" y="{bottom + 15}">{f"{100 * tick:g} %" if unit else f"{tick:g}x"}</text>')
    if len(series) > 1:
        at = left_of_bars
        for i, name in enumerate(series):
            parts.append(f'<rect class="bar{i}" x="{at:.0f}" y="3" width="11" height="11"/><text x="{at + 16:.0f}" y="13">{html.escape(name)}</text>')
            at += 40 + 7.2 * len(name)
    for i, (label, row) in enumerate(rows):
        y = top + i * row_height
        parts.append(f'<text class="end" x="{left_of_bars - 10:.0f}" y="{y + row_height / 2 + 4:.1f}">{html.escape(label)}</text>')
        for j, value in enumerate(row):
            if not value:
                continue
            bar = y + (row_height - _BAR * len(row)) / 2 + j * _BAR
            left, right = sorted((x(1), x(value)))
            parts.append(f'<rect class="bar{j}" x="{left:.1f}" y="{bar + 1:.1f}" width="{max(1, right - left):.1f}" height="{_BAR - 2}"/>')
            parts.append(f'<text x="{right + 5:.1f}" y="{bar + _BAR - 2.5:.1f}">{_number(value, unit)}</text>')
    return "".join([*parts, "</svg>"])


def _number(value, unit):
    return f"{100 * value:.1f} %" if unit == "%" else f"{value:.2f}x"


def _figure(title, svg):
    """HTML that Python-Markdown leaves alone: a block without empty lines."""
    return f'<figure class="plot">{svg}<figcaption>{html.escape(title)}</figcaption></figure>'


def _first_number(text):
    found = re.match(r"\s*([0-9][0-9.,]*)", text)
    return float(found[1].replace(",", "")) if found else None


def _tables(lines):
    """(line after the table, column names, rows of cells) of each Markdown table."""
    i = 0
    while i < len(lines):
        start = i
        while i < len(lines) and lines[i].lstrip().startswith("|"):
            i += 1
        if i - start > 2:
            cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines[start:i]]
            yield i, cells[0], cells[2:]
        i += 1


def _table_chart(names, rows):
    """The title and the chart of a Markdown table, or None if it has no times of a peer and no rate beside that of a copy."""
    problem = next((names.index(each) for each in ("rows x hidden", "batch, kv") if each in names), None)
    if problem is None:
        return None
    operator = names.index("operator") if "operator" in names else None
    labels = [(row[operator] + " " if operator is not None else "") + row[problem] for row in rows]
    if "mgtune" in names and "best peer" in names:
        title = "Time of the best peer divided by the time of mgtune"
        pairs = [(_first_number(row[names.index("best peer")]), _first_number(row[names.index("mgtune")])) for row in rows]
    elif {"FA2", "cuDNN", "mgtune"} <= set(names):
        title = "Time of the faster one of FA2 and cuDNN divided by the time of mgtune"
        pairs = [(min(_first_number(row[names.index(each)]) for each in ("FA2", "cuDNN")), _first_number(row[names.index("mgtune")]))
                 for row in rows]
    elif names[-1] == "of copy":
        title = "Bandwidth, relative to our fastest copy kernel"
        shares = [(label, [_first_number(row[-1]) / 100]) for label, row in zip(labels, rows) if _first_number(row[-1])]
        return title, chart(title, shares, [""], "%")
    else:
        return None
    return title, chart(title, [(label, [peer / own]) for label, (peer, own) in zip(labels, pairs) if peer and own], [""])


def _blocks(lines):
    """(line after the block, its lines) of each fenced block."""
    start = None
    inside = list(fenced(lines))
    for i, each in enumerate([*inside, False]):
        if each and start is None:
            start = i
        elif not each and start is not None:
            yield i, lines[start + 1:i - 1]
            start = None


def _block_chart(block):
    """The title and the chart of a table of `python -m mgtune.bench`, or None if it is not one with times of kernels."""
    if len(block) < 3 or not block[1].startswith("case") or "import" in block[1]:
        return None
    names = re.split(r" {2,}", block[1].strip())
    ratios = [i for i, name in enumerate(names) if re.fullmatch(r"\S+/\S+", name)]
    # The formula in single operators is an order of magnitude slower, so it would hide what differs among the others.
    others = [i for i in ratios if not names[i].startswith("eager/")]
    shown = others if len(others) > 1 else ratios
    if not shown:
        return None
    rows = []
    for line in block[2:]:
        cells = re.split(r" {2,}", line.strip())
        rows.append((cells[0], [float(cells[i].rstrip("x")) or None for i in shown]))
    if all(name == "mgtune/unpatched" for name in (names[i] for i in shown)):
        title = f"{block[0]}: tokens per second, patched divided by unpatched"
    elif all(names[i].endswith("/mgtune") and "import" not in names[i] for i in shown):
        title = f"{block[0]}: time of the other divided by the time of mgtune"
    else:
        return None
    return title, chart(title, rows, [names[i].partition("/")[0] for i in shown])


def charts(text):
    """(line after the table, title, SVG) for each table of a page of results that has a chart."""
    lines = text.split("\n")
    found = [(end, _table_chart(names, rows)) for end, names, rows in _tables(lines)]
    found += [(end, _block_chart(block)) for end, block in _blocks(lines)]
    return [(end, *made) for end, made in sorted(found, key=lambda each: each[0]) if made]


def with_charts(text):
    """The page with each chart below its table."""
    lines = text.split("\n")
    for end, title, svg in reversed(charts(text)):
        lines[end:end] = ["", _figure(title, svg), ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description="Writes the charts of a page of results as SVG files.")
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, help="the folder to write")
    words = parser.parse_args()
    words.output.mkdir(parents=True, exist_ok=True)
    style = (pathlib.Path(__file__).parent / "../pages/stylesheets/plots.css").read_text(encoding="utf-8")
    for i, (_, _, svg) in enumerate(charts(words.page.read_text(encoding="utf-8")), 1):
        path = words.output / f"{words.page.stem}.{i}.svg"
        path.write_text(svg.replace(">", f"><style>{style}</style>", 1), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
