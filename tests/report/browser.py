"""Headless Chromium, driven over two pipes (--remote-debugging-pipe): no port, no other library."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Browser:
    def __init__(self, program="chromium"):
        self.folder = tempfile.mkdtemp(prefix="ti-browser-")
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()
        # The browser reads commands at descriptor 3 and writes answers at 4.
        move = f'exec 3<&{to_read} 4>&{back_write}; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", move, "bash", program, "--headless=new", "--no-sandbox", "--disable-gpu",
             "--remote-debugging-pipe", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             f"--user-data-dir={self.folder}", "about:blank"],
            pass_fds=(to_read, back_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_read)
        os.close(back_write)
        self.number, self.rest, self.events = 0, b"", []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")

    session = None

    def close(self):
        try:
            self.session = None
            self.ask("Browser.close")
        except (OSError, EOFError):
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self, limit=None):
        """The next message; None after `limit` seconds."""
        while b"\0" not in self.rest:
            if limit is not None and not select.select([self.back], [], [], limit)[0]:
                return None
            got = os.read(self.back, 1 << 20)
            if not got:
                raise EOFError("the browser has ended")
            self.rest += got
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width=1400, height=900, dark=False):
        """Open a file.  Returns the seconds until it was loaded."""
        self.events.clear()
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        begin = time.monotonic()
        self.ask("Page.navigate", url="file://" + os.path.abspath(path))
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.read())
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return time.monotonic() - begin

    def run(self, script):
        """The value of an expression in the page."""
        result = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def key(self, key, modifiers=0):
        text = {"text": key} if len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, modifiers=modifiers, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=modifiers)

    def pointer(self, x, y):
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def wheel(self, x, y, delta):
        self.ask("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta)

    def complaints(self):
        """Errors and warnings of the page, and each request that it made but for itself."""
        out = []
        for event in self.events:
            method, p = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                d = p["exceptionDetails"]
                out.append(d.get("exception", {}).get("description") or d["text"])
            elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
                if "willReadFrequently" in p["entry"]["text"]:
                    continue  # of the tests, which read canvases; pages do not
                out.append(p["entry"]["text"])
            elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
                out.append(str([a.get("value") for a in p["args"]]))
            elif method == "Network.requestWillBeSent" and p["type"] != "Document":
                url = p["request"]["url"]
                if not url.startswith(("data:", "blob:")):
                    out.append("request: " + url[:200])
        return out

    def picture(self, path, clip=None):
        """Store a picture of the whole page, or of a part (x, y, width, height)."""
        options = {}
        if clip:
            options["clip"] = dict(zip(("x", "y", "width", "height"), clip), scale=1)
        data = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, **options)
        with open(path, "wb") as file:
            file.write(base64.b64decode(data["data"]))
