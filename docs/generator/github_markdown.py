"""Markdown as GitHub reads it, rewritten for Python-Markdown, which MkDocs uses.

Two things differ in the pages of this repository. GitHub begins a list, a table or a fenced block in the line after a paragraph;
Python-Markdown wants an empty line before it. What belongs to an item of a list stands below the item's text on GitHub, and four
columns further in for Python-Markdown. Links are found here too, because both need to know what is code.
"""
import re

_ITEM = re.compile(r"(?P<indent> *)(?P<marker>[-*+]|\d{1,9}[.)])(?P<gap> +)(?=\S)")
_FENCE = re.compile(r" *(?P<fence>`{3,}|~{3,})")
_TABLE_RULE = re.compile(r" *\|?[ :]*-[-| :]*\|[-| :]*$")
# Inline code, or a link with its target.
_CODE_OR_LINK = re.compile(r"(?P<code>(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))|(?<=\]\()(?P<target>[^)\s]+)(?=\))", re.DOTALL)


def fenced(lines):
    """For each line whether it belongs to a fenced block, its first and its last line included."""
    fence = None
    for line in lines:
        found = _FENCE.match(line)
        if fence is None and found:
            fence = found["fence"]
            yield True
        elif fence is not None:
            yield True
            if found and found["fence"].startswith(fence) and line.strip() == found["fence"]:
                fence = None
        else:
            yield False


def _width(line):
    return len(line) - len(line.lstrip(" "))


def _starts_table(lines, i):
    return "|" in lines[i] and i + 1 < len(lines) and bool(_TABLE_RULE.match(lines[i + 1]))


def for_python_markdown(text):
    lines = text.split("\n")
    inside = list(fenced(lines))
    items = []  # of each open item the columns of its marker and of its text
    result = []
    for i, line in enumerate(lines):
        if not line.strip():
            result.append("")
            continue
        begins_fence = inside[i] and (i == 0 or not inside[i - 1])
        item = None if inside[i] else _ITEM.match(line)
        after_blank = not result or result[-1] == ""
        in_list = bool(items)
        if not inside[i] or begins_fence:
            lazy = not after_blank and item is None and not begins_fence and not _starts_table(lines, i) and not line.startswith("#")
            while items and _width(line) < items[-1][1] and not lazy:
                items.pop()
        base = items[-1][1] if items else 0
        starts = (item is not None and not in_list) or begins_fence or (not inside[i] and _starts_table(lines, i))
        if starts and not after_blank:
            result.append("")
        result.append(" " * 4 * len(items) + " " * max(0, _width(line) - base) + line.lstrip(" "))
        if item is not None:
            items.append((_width(line), len(item.group(0))))
    return "\n".join(result)


def replace_links(text, replace):
    """`text` with replace(target) in place of the target of each link outside of code."""
    lines = text.split("\n")
    parts, start = [], 0
    inside = list(fenced(lines))
    while start < len(lines):
        end = start
        while end < len(lines) and inside[end] == inside[start]:
            end += 1
        part = "\n".join(lines[start:end])
        if not inside[start]:
            part = _CODE_OR_LINK.sub(lambda found: found["code"] or replace(found["target"]), part)
        parts.append(part)
        start = end
    return "\n".join(parts)
