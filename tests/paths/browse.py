"""Opens a page of a folder in headless Chromium: browse.py FOLDER PAGE READY EXPRESSION...
Waits until the expression READY is true, prints the value of each EXPRESSION as JSON, one a line, and then every message of the
console, every uncaught error and every failed request, as "console: TEXT". Status 1 if the page is not ready within 30 s."""
import fcntl
import functools
import http.server
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time

LIMIT = 30  # seconds


class Browser:
    """DevTools' protocol through two pipes: messages of JSON, each with a zero byte behind it"""

    def __init__(self, profile):
        (theirs_in, self.to), (self.back, theirs_out) = os.pipe(), os.pipe()
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (theirs_in, theirs_out)]
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--remote-debugging-pipe"]
        self.child = subprocess.Popen(command, preexec_fn=lambda: [os.dup2(fd, n) for fd, n in zip(theirs, (3, 4))], pass_fds=(3, 4),
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.number, self.rest, self.said, self.session = 0, b"", [], None
        self.until = time.monotonic() + LIMIT
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def read(self):
        while b"\0" not in self.rest:
            if not select.select([self.back], [], [], max(0, self.until - time.monotonic()))[0]:
                raise TimeoutError(f"no answer of Chromium within {LIMIT} s")
            part = os.read(self.back, 1 << 16)
            if not part:
                raise RuntimeError("Chromium has ended")
            self.rest += part
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            m = self.read()
            self.note(m)
            if m.get("id") == self.number:
                if "error" in m:
                    raise RuntimeError(f"{method}: {m['error']}")
                return m["result"]

    def note(self, m):
        p = m.get("params", {})
        if m.get("method") == "Runtime.consoleAPICalled":
            self.said.append(" ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif m.get("method") == "Runtime.exceptionThrown":
            self.said.append(p["exceptionDetails"].get("exception", {}).get("description", p["exceptionDetails"]["text"]))
        elif m.get("method") == "Log.entryAdded":
            self.said.append(f"{p['entry']['text']} {p['entry'].get('url', '')}")

    def value(self, expression):
        r = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return r["result"].get("value", r.get("exceptionDetails", {}).get("text"))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def main():
    folder, page, ready, *expressions = sys.argv[1:]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server, \
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = Browser(profile)
        try:
            browser.ask("Page.navigate", url=f"http://127.0.0.1:{server.server_address[1]}/{page}")
            while not browser.value(ready) is True and time.monotonic() < browser.until:
                time.sleep(0.05)
            is_ready = browser.value(ready) is True
            for e in expressions:
                print(json.dumps(browser.value(e), ensure_ascii=False))
            for line in browser.said:
                print(f"console: {line}")
        finally:
            browser.child.kill()
            browser.child.wait()
            server.shutdown()
    return not is_ready


if __name__ == "__main__":
    sys.exit(main())
