#!/usr/bin/env python3
"""Checks the links of a built site: every relative link and image names a file of the site, and every anchor exists in it.

  check_links.py SITE_FOLDER

Links to other hosts are not followed. Exit code 1, naming each broken link.
"""
import html.parser
import pathlib
import sys
import urllib.parse


class _Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.links, self.anchors = [], set()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        self.links += [values[name] for name in ("href", "src") if values.get(name) is not None]


def broken_links(site):
    """A line for each broken link of the HTML files in `site`."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        pages[path.resolve()] = page = _Page()
        page.feed(path.read_text(encoding="utf-8"))
    for path, page in pages.items():
        for link in dict.fromkeys(page.links):
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":  # the page of no address, so its links begin at the root
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            where = f"{path.relative_to(site.resolve())}: {link}"
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.is_file():
                yield f"{where}: the site has no such file"
            elif anchor and target in pages and anchor not in pages[target].anchors and not anchor.startswith("__"):
                yield f"{where}: the page has no such anchor"


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1], "index.html").is_file():
        sys.exit("usage: check_links.py SITE_FOLDER, a folder with an index.html")
    broken = list(broken_links(pathlib.Path(sys.argv[1])))
    for line in broken:
        print(f"BROKEN {line}", file=sys.stderr)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
