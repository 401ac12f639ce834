"""A page for each command of the program, made from what `mgtune help COMMAND` prints."""
import re
import subprocess

FOLDER = "reference/commands/"


def _help(program, *words):
    return subprocess.run([program, "help", *words], check=True, text=True, stdout=subprocess.PIPE).stdout


def commands(overview):
    """The (name, summary) of each command in the overview."""
    listed = overview.split("\nCommands:\n", 1)[1].split("\n\n", 1)[0]
    return [tuple(line.split(None, 1)) for line in listed.splitlines()]


def _cell(text):
    return re.sub(r"([|*_\[\]])", r"\\\1", text).replace("<", "&lt;")


def _table(head, block):
    """A table of the options or positionals that `block` lists: two columns, two blanks or more between them."""
    rows = []
    for line in block.splitlines():
        name, text = re.match(r" +(\S.*?)(?: {2,}(.*))?$", line).groups()
        rows.append(f"| `{name}` | {_cell(text or '')} |")
    return "\n".join([f"| {head} | |", "|---|---|", *rows])


def page(name, text):
    """The page of a command out of its help text."""
    summary, rest = text.split("\n", 1)
    usage, rest = rest.split("\n\n", 1)
    parts = [f"# mgtune {name}", summary.strip() + ".", "```text\n" + usage.removeprefix("Usage: ") + "\n```"]
    notes = []
    for block in rest.rstrip("\n").split("\n\n"):
        head, _, lines = block.partition("\n")
        if head in ("Positionals:", "Options:") and not notes:
            parts.append(_table({"Positionals:": "Word", "Options:": "Option"}[head], lines))
        else:
            notes.append(block)
    if notes:
        parts.append("```text\n" + "\n\n".join(notes) + "\n```")
    return "\n\n".join(parts) + "\n"


def pages(program):
    """Page -> text."""
    overview = _help(program)
    found = commands(overview)
    result = {f"{FOLDER}{name}.md": page(name, _help(program, name)) for name, _ in found}
    table = "\n".join(f"| [`mgtune {name}`]({name}.md) | {_cell(summary)} |" for name, summary in found)
    rest = overview.split("\nCommands:\n", 1)[1].split("\n\n", 1)[1]
    result[FOLDER + "README.md"] = (f"# Commands\n\n`mgtune help COMMAND` prints each of these pages.\n\n| command | |\n|---|---|\n{table}\n\n"
                                    f"```text\n{rest.rstrip()}\n```\n")
    return result
