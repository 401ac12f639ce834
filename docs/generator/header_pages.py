"""A page for each public header of libmgruntime: each declaration, with the comment above it as text."""
import re

FOLDER = "reference/"
HEADERS = {"mgruntime.h": "C interface", "mgruntime.hpp": "C++ layer"}
_LINTER = re.compile(r"^(/\* (clang-format|NOLINT)[^\n]*\*/|// NOLINT[^\n]*)\n", re.MULTILINE)
_SECTION = re.compile(r"/\* ---- (?P<title>.+?) ---- \*/")
# What a declaration names; the first that fits.
_NAMES = [re.compile(each) for each in (
    r"(?s)^typedef .*\}\s*(\w+);$", r"^typedef struct \w+ (\w+);$", r"^#define (\w+)", r"^(?:template <.*>\n)?(?:class|struct) (?:\[\[\w+\]\] )?(\w+) \{",
    r"\b(mgr_\w+)\(")]


def _comment_text(comment):
    """The Markdown of a comment."""
    lines = []
    for line in comment.strip().splitlines():
        line = re.sub(r"^\s*(/\*|//|\*/|\*)? ?", "", line)
        lines.append(re.sub(r"\s*\*/$", "", line))
    text = "\n".join(lines).strip("\n")
    # An indented block that is no list is a table of names: it stays as it is.
    blocks = []
    for block in text.split("\n\n"):
        first = block.split("\n")[0]
        if re.match(r" {2,}(?![-\d ])", first):
            blocks.append("```text\n" + re.sub(r"^ {2}", "", block, flags=re.MULTILINE) + "\n```")
        else:
            blocks.append(_words(block))
    return "\n\n".join(blocks)


def _words(text):
    """Names as code: mgr_open, MGR_OK, struct_size, void*."""
    text = re.sub(r"(?<![\w`':])((?:mgr|MGR|MGTUNE)_\w*\*?(?:=\w+|\(\))?|(?:std::)?\w+_\w+(?:\(\))?|void\*|\$\w+)(?![\w`])", r"`\1`", text)
    return text.replace("<", "&lt;")


def _declarations(code):
    """(comment, declaration) of everything that a header declares, in order; ("", section) between them."""
    lines, i = code.splitlines(), 0
    while i < len(lines):
        line = lines[i]
        section = _SECTION.match(line)
        if section:
            yield None, section["title"]
            i += 1
            continue
        if not line.strip():
            i += 1
            continue
        comment = []
        if line.startswith("/*"):
            while True:
                comment.append(lines[i])
                i += 1
                if comment[-1].rstrip().endswith("*/"):
                    break
        else:
            while i < len(lines) and lines[i].startswith("//"):
                comment.append(lines[i])
                i += 1
        declaration = []
        # Up to the line that closes it: at the left margin, or the end of a one-line declaration.
        while i < len(lines) and lines[i].strip() and not (not declaration and lines[i].startswith(("/*", "//"))):
            declaration.append(lines[i])
            i += 1
            opened = sum(each.count("{") - each.count("}") for each in declaration)
            while opened > 0:
                declaration.append(lines[i])
                opened += lines[i].count("{") - lines[i].count("}")
                i += 1
            if declaration[-1].rstrip().endswith((";", "}")) or declaration[0].startswith("#define"):
                break
        yield "\n".join(comment), "\n".join(declaration)


def _shown(declaration):
    """The declaration without what is private to a class, and without the macro before a function."""
    if declaration.startswith("MGR_API "):
        declaration = re.sub(r"^ {8}", "", declaration.removeprefix("MGR_API "), flags=re.MULTILINE)
    return re.sub(r"\n\n? private:.*\n\};", "\n};", declaration, flags=re.DOTALL)


def _name(declaration):
    return next((found[1] for found in (each.search(declaration) for each in _NAMES) if found), None)


def page(file, title, text):
    text = _LINTER.sub("", text)
    head, _, body = text.partition("\n#ifndef ")
    body = re.split(r"extern \"C\" \{\n#endif\n|\nnamespace mgr \{\n", body, maxsplit=1)[-1]
    body = re.split(r"\n#ifdef __cplusplus\n\}|\n\}  // namespace mgr", body, maxsplit=1)[0]
    language = "c" if file.endswith(".h") else "c++"
    parts = [f"# {title}: {file}", _comment_text(head), "The declarations below are all of the header, with its comments."]
    for comment, declaration in _declarations(body):
        if comment is None:
            parts.append(f"## {declaration[:1].upper()}{declaration[1:]}")
            continue
        name = _name(declaration)
        if name is None:
            if comment:
                parts.append(_comment_text(comment))
            continue
        level = "###" if file.endswith(".h") else "##"
        if not declaration.startswith("typedef struct") or "{" in declaration or comment:
            parts.append(f"{level} {name}")
        parts.append(f"```{language}\n{_shown(declaration)}\n```")
        if comment:
            parts.append(_comment_text(comment))
    return "\n\n".join(part for part in parts if part) + "\n"


def pages(root):
    """Page -> text."""
    folder = root / "runtime/include/mgruntime"
    return {f"{FOLDER}{file}.md": page(file, title, (folder / file).read_text(encoding="utf-8")) for file, title in HEADERS.items()}
