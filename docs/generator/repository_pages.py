"""The pages that the repository has already, and the files that they link to.

Every Markdown file of the repository is a page of the site, at its own path; those of docs/pages are at the top. A file that a page
links to and that is no page (a source, a table of figures) becomes a page with its text, a linked folder without a README one that lists
it. Of a file that is no text (recorded times, compressed) only the size is shown. So a link that works in the repository works on the
site, and a link to a file that does not exist ends the build.
"""
import pathlib
import posixpath
import re

from github_markdown import for_python_markdown, replace_links

OWN_PAGES = "docs/pages/"
# Folders that are no part of the repository, and what tests plant.
_SKIPPED = {".git", ".cache", "build", "install", "dist", "node_modules", "__pycache__"}
_LANGUAGES = {".cu": "c++", ".cuh": "c++", ".cpp": "c++", ".h": "c", ".hpp": "c++", ".c": "c", ".py": "python", ".json": "json",
              ".sh": "sh", ".mjs": "js", ".ts": "ts"}


class BrokenLink(Exception):
    pass


def markdown_files(root):
    """The repository's pages: paths relative to `root`, in order."""
    found, folders = [], [root]
    while folders:
        for path in folders.pop().iterdir():
            if path.is_dir() and not path.is_symlink():
                if path.name not in _SKIPPED:
                    folders.append(path)
            elif path.suffix == ".md":
                found.append(path.relative_to(root).as_posix())
    return sorted(found)


def page_of(path):
    """Where a Markdown file of the repository is on the site."""
    return path.removeprefix(OWN_PAGES)


class RepositoryPages:
    def __init__(self, root, generated=()):
        """`generated` are pages of the site that are no files; those of docs/pages may link to them."""
        self.root = pathlib.Path(root)
        self.files = markdown_files(self.root)
        self.pages = {page_of(path): path for path in self.files}
        self.generated = set(generated)
        self.sources = {}  # page -> text, for what pages link to that is no page
        self.images = set()
        for path in self.files:
            self.markdown(path)

    def markdown(self, path):
        """The text of a Markdown file as a page of the site."""
        text = (self.root / path).read_text(encoding="utf-8")
        page = page_of(path)
        return for_python_markdown(replace_links(text, lambda target: self._target(path, page, target)))

    def _target(self, path, page, target):
        if target.startswith("#") or re.match(r"[a-z]+:", target):
            return target
        file, hash_sign, anchor = target.partition("#")
        if path.startswith(OWN_PAGES):
            wanted = posixpath.normpath(posixpath.join(posixpath.dirname(page), file))
            if wanted in self.generated:
                return target
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        if wanted.startswith("../") or not (self.root / wanted).exists():
            raise BrokenLink(f"{path}: links to {target}, which is not there")
        return posixpath.relpath(self._page_for(wanted), posixpath.dirname(page) or ".") + hash_sign + anchor

    def _page_for(self, wanted):
        """The page that shows a file or folder of the repository."""
        there = self.root / wanted
        if there.is_dir() and (there / "README.md").exists():
            wanted = posixpath.normpath(wanted + "/README.md")
        if wanted.endswith((".svg", ".png")):
            self.images.add(wanted)
            return page_of(wanted)
        if wanted in self.files:
            return page_of(wanted)
        if not there.is_dir():
            page = f"source/{wanted}.md"
            text = _text_of(there)
            self.sources.setdefault(page, _page(wanted, f"{there.stat().st_size:,} bytes that are no text.") if text is None
                                    else _source_page(wanted, text))
            return page
        page = f"source/{wanted}/README.md"
        if page not in self.sources:
            self.sources[page] = ""  # a folder below may link back
            lines = [self._entry(each, posixpath.dirname(page)) for each in sorted(there.iterdir()) if each.name not in _SKIPPED]
            self.sources[page] = _page(wanted + "/", "\n".join(lines))
        return page

    def _entry(self, there, folder):
        """The line of a file or folder in the list of its folder, which is the site's `folder`."""
        if there.is_file() and not there.name.endswith((".svg", ".png")) and _text_of(there) is None:
            return f"- `{there.name}`, {there.stat().st_size:,} bytes"
        page = posixpath.relpath(self._page_for(there.relative_to(self.root).as_posix()), folder)
        return f"- [{there.name}{'/' if there.is_dir() else ''}]({page})"


def _text_of(path):
    """The text of a file, or None if it is not text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def _page(title, content):
    return f"---\nsearch:\n  exclude: true\n---\n# `{title}`\n\n{content}\n"


def _source_page(path, text):
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall("`+", text)), 3)
    language = _LANGUAGES.get(posixpath.splitext(path)[1], "text")
    return _page(path, f"{fence}{language}\n{text.rstrip()}\n{fence}")
