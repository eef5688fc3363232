"""Chromium without a window, told what to do over its debugging pipe. Needs nothing but Python itself."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
PATIENCE_S = 60


class Browser:
    """One browser; a page in it is opened anew for each width and colour scheme."""

    def __init__(self):
        program = shutil.which("chromium") or shutil.which("google-chrome")
        if program is None:
            print("skipped: no chromium here")
            sys.exit(SKIPPED)
        self.profile = tempfile.mkdtemp(prefix="sheaf_browser_")
        to_browser, self.commands = os.pipe()
        self.answers, from_browser = os.pipe()

        def give_pipes():
            # The browser reads from descriptor 3 and writes to 4; moved away first, so that neither is lost.
            reader, writer = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reader, 3)
            os.dup2(writer, 4)

        self.process = subprocess.Popen(
            [
                program,
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--disable-component-update",
                "--no-first-run",
                "--hide-scrollbars",
                f"--user-data-dir={self.profile}",
                "about:blank",
            ],
            preexec_fn=give_pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.number = 0
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def read_message(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answers], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                return None
            part = os.read(self.answers, 1 << 16)
            if not part:
                raise RuntimeError("the browser has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self.read_message(deadline)
            if answer is None:
                raise RuntimeError(f"the browser does not answer {method}")
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def open(self, url, width, height, dark):
        return Page(self, url, width, height, dark)


class Page:
    def __init__(self, browser, url, width, height, dark):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.url = url
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Page.navigate", url=url)
        # The blank page is complete, too, until the browser leaves it.
        self.wait_for("location.href !== 'about:blank' && document.readyState === 'complete'")

    def call(self, method, **parameters):
        return self.browser.call(method, session=self.session, **parameters)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, expression):
        deadline = time.monotonic() + PATIENCE_S
        failure = ""
        while time.monotonic() < deadline:
            try:
                if self.evaluate(expression):
                    return
            except RuntimeError as error:
                # A page that is on its way out takes the question along.
                failure = f" ({error})"
            time.sleep(0.05)
        raise AssertionError(f"never came true in {PATIENCE_S} s: {expression}{failure}")

    def wait_until_drawn(self):
        """Charts are drawn after the page is complete; names those that stay blank."""
        try:
            self.wait_for(f"({BLANK_CHARTS}).length === 0")
        except AssertionError as error:
            raise AssertionError(f"charts that are blank: {self.evaluate(BLANK_CHARTS)}") from error

    def own_events(self, method):
        return [e["params"] for e in self.browser.events if e["method"] == method and e.get("sessionId") == self.session]

    def errors(self):
        """Whatever the page's console has of errors and warnings."""
        thrown = [e["exceptionDetails"].get("text", "") for e in self.own_events("Runtime.exceptionThrown")]
        said = [str(e["args"]) for e in self.own_events("Runtime.consoleAPICalled") if e["type"] in ("error", "warning")]
        logged = [e["entry"]["text"] for e in self.own_events("Log.entryAdded") if e["entry"]["level"] == "error"]
        return thrown + said + logged

    def requests(self):
        urls = [e["request"]["url"] for e in self.own_events("Network.requestWillBeSent")]
        return [url for url in urls if url != self.url and not url.startswith("data:")]

    def screenshot(self, path, whole=False):
        clip = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole, **clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))


# The names of charts that are not drawn: their canvas has hardly a colour.
BLANK_CHARTS = """
(() => {
  const blank = (canvas) => {
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const colors = new Set();
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 0) colors.add((data[i] << 16) + (data[i + 1] << 8) + data[i + 2]);
    return colors.size < 3;
  };
  return Array.from(document.querySelectorAll("canvas")).filter(blank).map((canvas) => canvas.getAttribute("aria-label"));
})()
"""
# Whether the page is wider than the window; tables scroll by themselves.
TOO_WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
