#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The documentation as a site: site.py FOLDER writes plain HTML of README.md, CONTRIBUTING.md, docs/ and examples/.

cmark-gfm makes HTML of each page. This program adds the frame: a title, the list of all pages, and the way to the page before and
behind. Headings get the names that GitHub gives them. Links to pages lead to pages; other files that pages link to are copied, so
nothing of the site points outside of it. CONTENTS has every page; a page that is missing there is an error."""
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONTENTS = [
    ("Start", ["README.md", "docs/install.md", "docs/compare.md", "docs/benchmarks.md", "docs/benchmarks-zen5.md", "docs/benchmarks-amx.md"]),
    ("Use", ["docs/bundle.md", "docs/packages.md", "docs/sizes.md", "docs/pictures.md", "docs/pipelines.md", "docs/libtgc.md",
             "docs/devices.md", "docs/llvm.md", "docs/targets.md", "docs/operators.md", "docs/quantize.md", "docs/numerics.md",
             "docs/tuning.md", "docs/debug.md", "docs/ci.md", "docs/misra.md"]),
    ("Examples", ["examples/digits/README.md", "examples/decode/README.md", "examples/cortex-m/README.md",
                  "examples/openpilot/README.md"]),
    ("Tutorial", ["docs/tutorial/README.md", "docs/tutorial/1-dot.md", "docs/tutorial/2-softmax.md", "docs/tutorial/3-convolution.md",
                  "docs/tutorial/4-memory.md", "docs/tutorial/5-index.md", "docs/tutorial/6-schedule.md", "docs/tutorial/7-search.md",
                  "docs/tutorial/8-fusion.md", "docs/tutorial/9-device.md", "docs/tutorial/10-op.md"]),
    ("The compiler", ["docs/passes.md", "docs/ir.md", "docs/text-format.md", "docs/kernels.md", "docs/tunables.md", "docs/glossary.md",
                      "docs/why.md"]),
    ("Change it", ["CONTRIBUTING.md", "docs/hacking.md", "docs/adding-a-backend.md", "docs/testing.md"]),
]
PAGES = [page for _, pages in CONTENTS for page in pages]


def place(page):
    """docs/bundle.md -> docs/bundle.html; README.md -> index.html"""
    path = pathlib.PurePosixPath(page)
    return str(path.with_name("index.html") if path.name == "README.md" else path.with_suffix(".html"))


def relative(target, page):
    return os.path.relpath(target, pathlib.PurePosixPath(place(page)).parent)


def title(text):
    return re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", re.search(r"^# (.*)$", text, re.M)[1])


def slug(heading, seen):
    """the name that GitHub gives a heading"""
    name = re.sub(r"[^\w\- ]", "", html.unescape(re.sub(r"<[^>]*>", "", heading)).lower()).replace(" ", "-")
    seen[name] = seen.get(name, -1) + 1
    return f"{name}-{seen[name]}" if seen[name] else name


def without_comments(text):
    """comments are for programs that check pages; those in code are code"""
    parts = re.split(r"(^ *```.*?^ *```$)", text, flags=re.M | re.S)
    return "".join(part if i % 2 else re.sub(r"<!--.*?-->\n?", "", part, flags=re.S) for i, part in enumerate(parts))


class Site:
    def __init__(self, out):
        self.out = pathlib.Path(out)
        self.texts = {page: (ROOT / page).read_text() for page in PAGES}
        self.titles = {page: title(text) for page, text in self.texts.items()}
        self.files = set()

    def link(self, href, page):
        """where a link of a page leads in the site"""
        if re.match(r"[a-z]+:|#", href):
            return href
        path, _, anchor = html.unescape(href).partition("#")
        target = pathlib.PurePosixPath(os.path.normpath(str(pathlib.PurePosixPath(page).parent / path)))
        for candidate in (str(target), str(target / "README.md")):
            if candidate in self.texts:
                return html.escape(relative(place(candidate), page) + (f"#{anchor}" if anchor else ""))
        if not (ROOT / target).is_file():
            sys.exit(f"{page}: the link to {href} leads to no page and to no file")
        self.files.add(str(target))
        return html.escape(relative(f"files/{target}.txt", page))

    def body(self, page):
        made = subprocess.run(["cmark-gfm", "-e", "table", "-e", "autolink", "--unsafe"], input=without_comments(self.texts[page]),
                              capture_output=True, text=True, check=True).stdout
        seen = {}

        def heading(m):
            name = slug(m[2], seen)
            inner = m[2] if m[1] == "1" or "<a " in m[2] else f'<a href="#{name}">{m[2]}</a>'
            return f'<h{m[1]} id="{name}">{inner}</h{m[1]}>'

        made = re.sub(r"<h(\d)>(.*?)</h\1>", heading, made, flags=re.S)
        made = re.sub(r'(?<= href=")[^"]*(?=")', lambda m: self.link(m[0], page), made)
        titles = {place(p): html.escape(self.titles[p]) for p in PAGES}
        made = re.sub(r'(<a href="([^"#]*)[^"]*">)[\w./-]+\.md(?=</a>)',  # a reader of the site knows pages by their titles
                      lambda m: m[1] + titles.get(os.path.normpath(str(pathlib.PurePosixPath(place(page)).parent / m[2])), m[2]), made)
        made = re.sub(r"<table>.*?</table>", r'<div class="scroll">\g<0></div>', made, flags=re.S)
        made = re.sub(r'<pre><code class="language-console">(.*?)</code></pre>', lambda m: "<pre><code>" + re.sub(
            r"^\$ .*$", r'<span class="command">\g<0></span>', m[1], flags=re.M) + "</code></pre>", made, flags=re.S)
        return made

    def contents(self, page):
        lines = []
        for name, pages in CONTENTS:
            items = "".join(f'<li><a href="{relative(place(p), page)}"{" aria-current=" + chr(34) + "page" + chr(34) if p == page else ""}>'
                            f"{html.escape(self.titles[p])}</a></li>\n" for p in pages)
            lines.append(f"<h2>{name}</h2>\n<ul>\n{items}</ul>\n")
        return "".join(lines)

    def step(self, page, by, rel, arrow):
        at = PAGES.index(page) + by
        if not 0 <= at < len(PAGES):
            return "<span></span>"
        name = html.escape(self.titles[PAGES[at]])
        text = f"{arrow} {name}" if by < 0 else f"{name} {arrow}"
        return f'<a rel="{rel}" href="{relative(place(PAGES[at]), page)}">{text}</a>'

    def html(self, page):
        name = html.escape(self.titles[page])
        return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<title>{name if page == "README.md" else name + " · tgc"}</title>
<link rel="stylesheet" href="{relative("site.css", page)}" />
</head>
<body>
<nav>
<details id="contents">
<summary>Contents</summary>
{self.contents(page)}</details>
</nav>
<main>
{self.body(page)}<footer>{self.step(page, -1, "prev", "←")}{self.step(page, 1, "next", "→")}</footer>
</main>
<script>/* the list is open where it has a column of its own */
document.getElementById("contents").open = window.matchMedia("(min-width: 62rem)").matches;</script>
</body>
</html>
"""

    def write(self):
        for page in PAGES:
            path = self.out / place(page)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.html(page))
        for name in sorted(self.files):
            path = self.out / "files" / f"{name}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, path)
        shutil.copyfile(ROOT / "tools/site.css", self.out / "site.css")


def main():
    there = {str(p.relative_to(ROOT)) for folder in ("docs", "examples") for p in (ROOT / folder).rglob("*.md")}
    lost = sorted(there - set(PAGES))
    if lost:
        sys.exit(f"CONTENTS in tools/site.py has no place for {', '.join(lost)}")
    if len(sys.argv) != 2:
        sys.exit("usage: site.py FOLDER")
    if not shutil.which("cmark-gfm"):
        sys.exit("there is no cmark-gfm; install the package of that name")
    Site(sys.argv[1]).write()


if __name__ == "__main__":
    main()
