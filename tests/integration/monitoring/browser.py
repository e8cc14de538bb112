"""Headless Chromium by ChromeDriver's own protocol (WebDriver): what the tests of
the status page need of it, and nothing more."""

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

from replicas import wait_for


class Browser:
    def __init__(self, width=1280, height=1000):
        self.profile = tempfile.mkdtemp(prefix="rocksync_browser_")
        self.log = os.path.join(self.profile, "driver.log")
        with open(self.log, "wb") as out:
            self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=out, stderr=out)
        self.url = "http://127.0.0.1:" + wait_for("a driver", self._port)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync",
                     "--disable-dev-shm-usage", f"--user-data-dir={self.profile}/profile",
                     f"--window-size={width},{height}"]
        options = {"binary": "/usr/bin/chromium", "args": arguments}
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = f"/session/{made['sessionId']}"

    def _port(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            found = re.search(r"successfully on port (\d+)", log.read())
        return found and found.group(1)

    def _ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=180) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()[:2000]) from error

    def go(self, url):
        self._ask("POST", self.session + "/url", {"url": url})

    def run(self, script, *arguments):
        return self._ask("POST", self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def wait_for_text(self, selector, expression, seconds=60):
        return wait_for(f"{expression} in {selector}", lambda: re.search(expression, self.text(selector)), seconds)

    def messages(self):
        """What the page's console said since the last call: errors."""
        said = self._ask("POST", self.session + "/se/log", {"type": "browser"})
        return [entry["message"] for entry in said if entry["level"] == "SEVERE"]

    def emulate_dark(self):
        self._ask("POST", self.session + "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
            "features": [{"name": "prefers-color-scheme", "value": "dark"}]}})

    def screenshot(self, file):
        """Of the whole page."""
        got = self._ask("POST", self.session + "/goog/cdp/execute", {"cmd": "Page.captureScreenshot", "params": {
            "captureBeyondViewport": True}})
        with open(file, "wb") as out:
            out.write(base64.b64decode(got["data"]))

    def close(self):
        try:
            self._ask("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait(30)
            shutil.rmtree(self.profile, ignore_errors=True)
