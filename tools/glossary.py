#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks docs/glossary.md: passes, steps of a kernel and opts are terms of it, the files it names exist, and no term stands
there twice.

Each word of a message of compiler/ is a term of the glossary, the name of an op or of an attribute of dumps, or one of
tools/plain_words.txt: English that needs no explanation. So a new technical word fails here until the glossary explains it. A
message is what fail, warn and their kin are given, and what a function returns that says why something is refused. --words
lists what is missing, one a line. Prints TAP."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from structure import find, macro_rows  # noqa: E402

ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| `([^`]+)` \|$", re.M)
STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
CALL = re.compile(r"\b(?:fail|fail_at|warn|warn_at|REFUSE|scan_bad|answer_refused)\(")
# functions that return NULL or why not, by their names
REFUSAL = re.compile(r"^(?:static )?const char \*(?:\w*_refuses|check_\w+|opts_\w+|set_\w+|take_\w+|parse_\w+|tunables_set)\([^;{]*\{"
                     r"(.*?)^\}", re.M | re.S)
SAID = re.compile(r'(?:return|wrong =|\?|:)\s+' + STRING.pattern)
FORMAT = re.compile(r"%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:ll|z|l)?[a-zA-Z%]|\\n")
WORD = re.compile(r"[A-Za-z][A-Za-z_]+")
# what the field calls by another name: no message says it
RETIRED = set("alike chain chains decomp halo_view hasty owners room settle siblings stairs stretch unit units".split())


def arguments(text, at):
    """-> the literals of the call whose parenthesis opens at `at`, as one text"""
    depth, said = 0, []
    while True:
        m = STRING.match(text, at)
        if m:
            said.append(m[1])
            at = m.end()
            continue
        depth += (text[at] == "(") - (text[at] == ")")
        if not depth:
            return " ".join(said)
        at += 1


def messages():
    """-> (file, message) of all sources of the compiler"""
    for path in sorted((ROOT / "compiler").rglob("*.c")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        text = re.sub(r"'(?:\\.|[^'\\\n])'", "0", text)
        for m in CALL.finditer(text):
            yield path.name, arguments(text, m.end() - 1)
        for m in REFUSAL.finditer(text):
            for said in SAID.findall(m[1]):
                yield path.name, said


def words_of(message):
    return {w for w in WORD.findall(FORMAT.sub(" ", message)) if not w.isupper()}


def known_words(terms):
    """-> words that messages may say without an entry in plain_words.txt, in lower case: of terms, also their plurals"""
    words = {w.lower() for term in terms for w in WORD.findall(term)}
    words |= {row[0].lower() for row in macro_rows(find("ops.h"), "OP")}
    words |= set(re.findall(r'\{ "(\w+)",\s+F_', find("plan_fields.c").read_text() + find("plan_read.c").read_text()))  # attributes of dumps
    return words | {w + "s" for w in words} | {w + "es" for w in words}


def main():
    rows = ROW.findall((ROOT / "docs/glossary.md").read_text())
    terms = [term for term, _, _ in rows]
    names = [row[1] for row in macro_rows(ROOT / "compiler/passes.h", "PASS")]
    names += [row[1] for row in macro_rows(find("steps.h"), "STEP")]
    text = next(p for p in (ROOT / "compiler").rglob("opts_text.c")).read_text()
    opts = re.findall(r'\{ "([a-z]+)", A_', text)
    plain = (ROOT / "tools/plain_words.txt").read_text().split()
    known, found = known_words(terms), {}
    for file, message in messages():
        for w in words_of(message):
            found.setdefault(w.lower(), file)
    if "--words" in sys.argv:
        print("\n".join(sorted(w for w in found if w not in known and w not in plain)))
        return 0
    checks = [
        ("passes, steps and opts are terms", [n for n in names + opts if n not in terms]),
        ("the files are there", [f for _, _, f in rows if not (ROOT / f).is_file()]),
        ("a term stands there once", sorted({t for t in terms if terms.count(t) > 1})),
        ("opts were found", [] if len(opts) > 5 else ["too few: " + " ".join(opts)]),
        ("words of messages are terms or plain", [f"{w} ({found[w]})" for w in sorted(found) if w not in known and w not in plain]),
        ("messages were found", [] if len(found) > 200 else [f"only {len(found)} words"]),
        ("no message says a word that is replaced", [f"{w} ({found[w]})" for w in sorted(RETIRED & set(found))]),
        ("plain words are in use, and no terms", [w for w in plain if w not in found or w in known]),
        ("plain words are sorted", [] if plain == sorted(set(plain)) else ["tools/plain_words.txt is not"]),
    ]
    for number, (what, wrong) in enumerate(checks, 1):
        print(f"{'not ok' if wrong else 'ok'} {number} - docs/glossary.md: {what}{': ' + ' '.join(wrong) if wrong else ''}")
    print(f"1..{len(checks)}")
    return any(wrong for _, wrong in checks)


sys.exit(main())
