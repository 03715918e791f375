#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the English of comments, messages and pages: a sentence has at most 25 words in a comment, 30 on a page; none begins
with of, what, that or those; links between pages lead to a page and a heading.

Arguments: words of which a file's path must contain one. Then only those files are checked, and the faults are printed as
FILE:LINE. Without arguments it prints TAP."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = (".c", ".h", ".c.in", ".h.in")
MOST = {"comment": 25, "message": 25, "page": 30}  # words of a sentence
FIRST = {"of", "what", "that", "those"}
TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.S)
CALL = re.compile(r"\b(?:fail|fail_at|warn|warn_at|REFUSE|scan_bad|answer_refused|wrong)\(")
LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"')
# a part of a comment that is read by itself: after an empty line, a point of a list, a field of a contract, a wide gap
PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d\.) )|(?=\b(?:needs|gives|keeps|breaks|source): )|\s{4,}")
END = re.compile(r"(?<=[.!?;])[)\"]?\s+(?=[\w`(\[\"'*@-])")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|al|No|Fig|Sec)\.$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def comments(text):
    """-> (line, text) of the comments of a C source; lines of // that follow each other are one comment"""
    found = []
    for m in TOKEN.finditer(text):
        if m[0][0] in "\"'":
            continue
        line, said = text.count("\n", 0, m.start()) + 1, m[0]
        if said.startswith("//"):
            said = said[2:]
            if found and found[-1][2] == line - 1:
                found[-1] = (found[-1][0], found[-1][1] + "\n" + said, line)
                continue
        else:
            said = re.sub(r"\n[ \t]*\*?(?= |\n|$)", "\n", said[2:-2])
        found.append((line, said, line if m[0].startswith("//") else 0))
    return [(line, said) for line, said, _ in found]


def messages(text):
    """-> (line, text) of what fail, warn and their kin are given: literals that follow each other are one"""
    for m in CALL.finditer(text):
        said = re.match(r"[^\";]*?((?:\s*\"(?:\\.|[^\"\\])*\")+)", text[m.end():])
        if said:
            yield text.count("\n", 0, m.start()) + 1, "".join(LITERAL.findall(said[1]))


def paragraphs(page):
    """-> (line, text) of the paragraphs, points and cells of a page; blocks of code are left out"""
    part, start, code = [], 0, False
    for number, line in enumerate(page.splitlines() + [""], 1):
        fence = line.lstrip().startswith("```")
        alone = not line.strip() or fence or code or line.startswith(("|", "#", "<")) or (not part and line.startswith("    "))
        if part and (alone or re.match(r"\s*([-*]|\d+\.) ", line)):
            yield start, " ".join(part)
            part = []
        code ^= fence
        if line.startswith("|") and not code:
            yield from ((number, cell) for cell in line.strip("| ").split(" | "))
        if not alone:
            start = start if part else number
            part.append(re.sub(r"^\s*([-*]|\d+\.) ", "", line).strip())


def sentences(text):
    for part in PARAGRAPH.split(text):
        said = ""
        for piece in END.split(" ".join(part.split())):
            said = f"{said} {piece}".strip()
            if not ABBREVIATION.search(said):
                yield said
                said = ""
        if said:
            yield said


def faults(kind, sentence):
    """-> what is wrong with a sentence, or nothing"""
    words = [w for w in re.sub(r"`[^`]*`", "", sentence).split() if re.search(r"[A-Za-z]", w)]  # names are not counted
    first = re.sub(r"\W", "", (sentence.split() or [""])[0]).lower()
    if len(words) > MOST[kind]:
        yield f"{len(words)} words"
    if first in FIRST and not sentence.rstrip().endswith("?"):
        yield f"begins with {first}"


def anchors(page):
    """-> the names that headings of a page can be linked by"""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    heads = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", h.replace("`", "").lower()).replace(" ", "-") for h in heads}


def dead_links(path):
    text = re.sub(r"^```.*?^```|`[^`\n]*`", lambda m: "\n" * m[0].count("\n"), path.read_text(), flags=re.M | re.S)
    for m in LINK.finditer(text):
        file, _, head = m[1].partition("#")
        if re.match(r"\w+:", m[1]):
            continue
        to = (path.parent / file).resolve() if file else path
        if not to.exists() or (head and to.suffix == ".md" and head not in anchors(to)):
            yield text.count("\n", 0, m.start()) + 1, f"leads nowhere: {m[1]}"


def check(path):
    """-> (line, what is wrong, the sentence)"""
    text = path.read_text(errors="replace")
    if path.suffix == ".md":
        shown = re.sub(r"<!--.*?-->", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
        said = [("page", line, part) for line, part in paragraphs(shown)]
    else:
        said = [("comment", line, part) for line, part in comments(text)]
        said += [("message", line, part) for line, part in messages(re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text,
                                                                          flags=re.S))]
    found = [(line, why, s) for kind, line, part in said for s in sentences(part) for why in faults(kind, s)]
    return found + ([(line, why, "") for line, why in dead_links(path)] if path.suffix == ".md" else [])


def files():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    return [f for f in listed if f.endswith((*SOURCES, ".md")) and (ROOT / f).is_file()]


def main():
    words = sys.argv[1:]
    names = [name for name in files() if not words or any(w in name for w in words)]
    mend = [f"{name}:{line}: {why}: {said[:200]}" for name in names for line, why, said in sorted(check(ROOT / name))]
    if words:
        print("".join(f"{line}\n" for line in mend), end="")
    else:
        print("".join(f"# {line}\n" for line in mend), end="")
        print(f"{'not ok' if mend else 'ok'} 1 - prose: {len(mend)} sentences to mend in {len(names)} files\n1..1")
    return bool(mend)


sys.exit(main())
