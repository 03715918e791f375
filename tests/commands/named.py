# SPDX-License-Identifier: MIT
"""Commands that a page names and does not run: inline, as `tgc help`, in indented blocks, and in fences other than ```console. Each
verb, option, pass, backend, target of make, word of TESTS and script must exist."""
import functools
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STARTS = r"(?:build/)?tgc|make|(?:tools|tests)/[\w/.-]+"


def named(page):
    """-> the commands of a page that are not in ```console"""
    prose = re.sub(r"^( *)```console\n.*?^\1```$", "", page, flags=re.M | re.S)
    found = re.findall(rf"^(?: {{4,}}|\$ )((?:{STARTS})(?: .*)?)$", prose, re.M)
    for fence in re.findall(r"^ *```.*\n(.*?)^ *```$", prose, re.M | re.S):
        found += re.findall(rf"^(?:\$ )?((?:{STARTS})(?: .*)?)$", fence, re.M)
    outside = re.sub(r"^ *```.*?^ *```$|^ {4,}.*$", "", prose, flags=re.M | re.S)
    found += [" ".join(c.split()) for c in re.findall(rf"`((?:{STARTS})(?:\s[^`]*)?)`", outside)]
    return [re.sub(r"\s+#.*", "", c) for c in found]


@functools.lru_cache(None)
def says(tgc, *args):
    return subprocess.run([tgc, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60).stdout


@functools.lru_cache(None)
def makefile():
    return (ROOT / "Makefile").read_text()


def wrong_make(words):
    if any(w == "-C" or w.startswith("NVCC") for w in words):
        return ""  # the Makefile of a bundle
    text = makefile()
    for w in words:
        name, equals, value = w.partition("=")
        if equals:
            if not re.search(rf"^{name}\s*[?:+]?=|\$\({name}\)|\$\$?\{{?{name}", text, re.M) and name not in sources():
                return f"the Makefile knows no {name}"
            if name == "TESTS" and not all(any(v in p for p in test_paths()) for v in value.split()):
                return f"no test's path has {value}"
        elif w.startswith("build/"):  # a program of one source, by a rule with a pattern
            if w != "build/tgc" and not (ROOT / f"{w[6:]}.c").is_file():
                return f"there is no source of {w}"
        elif not w.startswith("-") and w != "..." and not re.search(rf"^{re.escape(w)}:", text, re.M):
            return f"there is no target {w}"
    return ""


@functools.lru_cache(None)
def sources():
    """words of the test scripts, which read variables that make hands on"""
    return set(re.findall(r"[A-Z_]{2,}", " ".join(p.read_text() for p in (ROOT / "tests").glob("*/*") if p.suffix in ("", ".py") and p.is_file())))


@functools.lru_cache(None)
def test_paths():
    return [str(p.relative_to(ROOT / "tests").with_suffix("")) for p in (ROOT / "tests").rglob("*") if p.name == "run" or p.suffix == ".c"]


def wrong_tgc(tgc, words, whole):
    if not words or words[0].isupper() or whole in says(tgc, "ops") or whole.startswith("tgc 1 "):
        return ""  # `tgc VERB`, a reason that tgc gives, the first line of a text
    verbs = re.findall(r"^  ([a-z]+) ", says(tgc, "help"), re.M)
    options = words if words[0].startswith("-") else words[1:]
    verb = "" if words[0].startswith("-") else words[0]
    if verb == "help":
        return "" if not options or options[0].isupper() or options[0] in verbs else f"there is no verb {options[0]}"
    if verb and verb not in verbs:
        return f"there is no verb {verb}"
    texts = [says(tgc, "help", v) for v in ([verb] if verb else verbs)]
    for w in options:
        name, _, value = w.partition("=")
        if name.startswith("--") and len(name) > 2 and not any(re.search(rf"{re.escape(name)}\b(?!-)", t) for t in texts):
            return f"{verb or 'no verb'} has no {name}" if verb else f"no verb has {name}"
        if name in ("--stop-after", "--start-after") and value and not value.isupper():
            if value != "load" and not re.search(rf"^-?\w +{re.escape(value)} ", says(tgc, "ops"), re.M):
                return f"there is no pass {value}"
        if name == "--backend" and value and not value.isupper() and not re.search(rf"^(?:backends)? +{value} ", says(tgc, "devices"), re.M):
            return f"there is no backend {value}"
    return ""


def wrong(tgc, command, example):
    """-> what of a command does not exist, or ''. example: texts in which a page may quote it as a result"""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    first, rest = words[0], words[1:]
    rest = rest[:next((i for i, w in enumerate(rest) if w in ("|", ">", "&&", ";")), len(rest))]
    if first == "make":
        return wrong_make(rest)
    if first in ("tgc", "build/tgc"):
        return wrong_tgc(tgc, rest, command) if command not in example else ""
    path = ROOT / first
    pattern = re.sub(r"\b[A-Z]{2,}\b", "*", first)
    return "" if path.exists() or list(ROOT.glob(pattern)) else f"there is no {first}"


def check(tgc, page):
    """-> the commands that a page names and that do not exist, with the reason"""
    messages = "".join(re.findall(r"^\| `\w+` \| `(.*?)` \|", page, re.M))  # reasons of skipped tests
    return [f"{c}: {why}" for c in dict.fromkeys(named(page)) for why in [wrong(tgc, c, messages)] if why]


def pages():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
