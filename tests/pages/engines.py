"""Three browser engines behind one small interface, so that one test runs in all of them.

Chromium is driven by Playwright, Firefox by Marionette (WebDriver over a socket, in the browser itself), WebKitGTK
by WebKitWebDriver (WebDriver over HTTP) on a display of its own. An engine opens an address, evaluates a function's
body, presses keys, moves a pointer, and tells a control's name from its accessibility tree.
"""

import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from browser import find_chromium
from playwright.sync_api import Browser

Point = tuple[float, float]
KEYS = {
    "ArrowDown": "\ue015",
    "ArrowLeft": "\ue012",
    "ArrowRight": "\ue014",
    "ArrowUp": "\ue013",
    "End": "\ue010",
    "Enter": "\ue007",
    "Home": "\ue011",
    "Space": " ",
    "Tab": "\ue004",
}
PATIENCE = 120  # seconds for whatever a test waits for: a busy machine is no failure


class Chromium:
    """A page of the Chromium that all tests share."""

    name = "chromium"

    def __init__(self, browser: Browser) -> None:
        self.version = browser.version
        self.page = browser.new_page(viewport={"width": 1200, "height": 900})
        self.page.set_default_timeout(1000 * PATIENCE)
        self.devtools = self.page.context.new_cdp_session(self.page)

    @staticmethod
    def missing() -> list[str]:
        """Return what has to be installed."""
        return [] if find_chromium() else ["chromium"]

    def open(self, url: str) -> None:
        """Load a page and its parts."""
        self.page.goto(url)

    def js(self, body: str, *args: Any) -> Any:
        """Return what a function of that body returns, or promises; it sees ``arguments``."""
        return self.page.evaluate(f"(args) => (function () {{ {body} }}).apply(null, args)", list(args))

    def press(self, *keys: str) -> None:
        """Press keys where the focus is."""
        for key in keys:
            self.page.keyboard.press(key)

    def drag(self, *path: Point) -> None:
        """Press the pointer at the first point, move it along the others and let it go; one point is a click."""
        self.page.mouse.move(*path[0])
        self.page.mouse.down()
        for point in path[1:]:
            self.page.mouse.move(*point)
        self.page.mouse.up()

    def labels(self, selector: str) -> list[str]:
        """Return the accessible names of elements."""
        root = self.devtools.send("DOM.getDocument", {"depth": 0})["root"]["nodeId"]
        found = self.devtools.send("DOM.querySelectorAll", {"nodeId": root, "selector": selector})["nodeIds"]
        asked = [{"nodeId": node, "fetchRelatives": False} for node in found]
        trees = [self.devtools.send("Accessibility.getPartialAXTree", each) for each in asked]
        return [tree["nodes"][0].get("name", {}).get("value", "") for tree in trees]

    def label(self, selector: str) -> str:
        """Return the accessible name of the first of them."""
        return self.labels(selector)[0]

    def picture(self) -> bytes:
        """Return a picture of the window (PNG)."""
        return self.page.screenshot()

    def close(self) -> None:
        """Close the page."""
        self.page.close()


class WebDriver:
    """The commands that Firefox and WebKit share; a subclass knows how to send one."""

    name = ""

    def send(self, command: str, **parameters: Any) -> Any:
        """Send a command by its name in the standard, in Marionette's spelling."""
        raise NotImplementedError

    def open(self, url: str) -> None:
        """Load a page and its parts."""
        self.send("Navigate", url=url)

    def js(self, body: str, *args: Any) -> Any:
        """Return what a function of that body returns, or promises; it sees ``arguments``."""
        return self.send("ExecuteScript", script=body, args=list(args))

    def press(self, *keys: str) -> None:
        """Press keys where the focus is."""
        values = [KEYS.get(key, key) for key in keys]
        strokes = [{"type": way, "value": value} for value in values for way in ("keyDown", "keyUp")]
        self.send("PerformActions", actions=[{"type": "key", "id": "keys", "actions": strokes}])

    def drag(self, *path: Point) -> None:
        """Press the pointer at the first point, move it along the others and let it go; one point is a click."""
        first, *rest = [
            {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0, "origin": "viewport"}
            for x, y in path
        ]
        moves = [first, {"type": "pointerDown", "button": 0}, *rest, {"type": "pointerUp", "button": 0}]
        pointer = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": moves}
        self.send("PerformActions", actions=[pointer])

    def labels(self, selector: str) -> list[str]:
        """Return the accessible names of elements."""
        found = self.send("FindElements", using="css selector", value=selector)
        return [self.send("GetComputedLabel", id=element) for each in found for element in each.values()]

    def label(self, selector: str) -> str:
        """Return the accessible name of the first of them."""
        found = self.send("FindElement", using="css selector", value=selector)
        (element,) = found.values()
        return self.send("GetComputedLabel", id=element)

    def picture(self) -> bytes:
        """Return a picture of the window (PNG)."""
        return base64.b64decode(self.send("TakeScreenshot"))


class Firefox(WebDriver):
    """Firefox without a window."""

    name = "firefox"

    def __init__(self) -> None:
        self.home = tempfile.TemporaryDirectory(prefix="book-firefox-")
        profile = Path(self.home.name)
        (profile / "user.js").write_text('user_pref("marionette.port", 0);\n')  # any free port
        command = [firefox(), "--headless", "--marionette", "--no-remote", "--profile", self.home.name]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, env={**os.environ, "HOME": self.home.name}, **quiet)
        port = profile / "MarionetteActivePort"
        wait(lambda: port.exists() and port.read_text().strip())
        self.socket = socket.create_connection(("127.0.0.1", int(port.read_text())))
        self.answers = self.socket.makefile("rb")
        self._receive()
        self.version = self.send("NewSession")["capabilities"]["browserVersion"]
        resize(self, 1200, 900)

    @staticmethod
    def missing() -> list[str]:
        """Return what has to be installed."""
        return [] if firefox() else ["firefox-esr"]

    def _receive(self) -> Any:
        """Read one message: its length in bytes, a colon, JSON."""
        length = b""
        while (digit := self.answers.read(1)) != b":":
            length += digit
        return json.loads(self.answers.read(int(length)))

    def send(self, command: str, **parameters: Any) -> Any:
        """Send a command and return its value."""
        if command == "ExecuteScript":
            parameters["sandbox"] = None  # the page's own globals
        message = json.dumps([0, 0, f"WebDriver:{command}", parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, value = self._receive()
        if error:
            raise RuntimeError(f"{command}: {error['message']}")
        return value["value"] if isinstance(value, dict) and set(value) == {"value"} else value

    def close(self) -> None:
        """End the browser."""
        self.answers.close()  # it holds the socket open
        self.socket.close()
        self.process.terminate()
        self.process.wait()
        with suppress(OSError):  # a helper process may still write into the profile
            self.home.cleanup()


class WebKit(WebDriver):
    """WebKitGTK's MiniBrowser on a display without a screen."""

    name = "webkit"
    PATHS: ClassVar = {
        "NewSession": ("POST", "/session"),
        "Navigate": ("POST", "/session/{session}/url"),
        "ExecuteScript": ("POST", "/session/{session}/execute/sync"),
        "PerformActions": ("POST", "/session/{session}/actions"),
        "SetWindowRect": ("POST", "/session/{session}/window/rect"),
        "FindElement": ("POST", "/session/{session}/element"),
        "FindElements": ("POST", "/session/{session}/elements"),
        "GetComputedLabel": ("GET", "/session/{session}/element/{id}/computedlabel"),
        "TakeScreenshot": ("GET", "/session/{session}/screenshot"),
        "DeleteSession": ("DELETE", "/session/{session}"),
    }

    def __init__(self) -> None:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        reader, writer = os.pipe()
        screen = ["-displayfd", str(writer), "-screen", "0", "1600x1200x24", "-nolisten", "tcp"]
        self.display = subprocess.Popen(["Xvfb", *screen], pass_fds=[writer], **quiet)
        os.close(writer)
        with os.fdopen(reader) as said:
            number = said.readline().strip()
        # layers that a GPU would lay over each other take the processor long
        plain = {"GDK_BACKEND": "x11", "NO_AT_BRIDGE": "1", "WEBKIT_DISABLE_COMPOSITING_MODE": "1"}
        environment = {**os.environ, "DISPLAY": f":{number}", **plain}
        for _ in range(5):  # somebody else may have taken the port by then: the driver ends at once
            self.port = free_port()
            command = ["WebKitWebDriver", f"--port={self.port}"]
            self.process = subprocess.Popen(command, env=environment, **quiet)
            wait(lambda: self.process.poll() is not None or listens(self.port))
            time.sleep(0.2)
            if self.process.poll() is None:
                break
        self.session = ""
        made = self.send("NewSession", capabilities={"alwaysMatch": {}})
        self.session, self.version = made["sessionId"], made["capabilities"]["browserVersion"]
        resize(self, 1200, 900)

    @staticmethod
    def missing() -> list[str]:
        """Return what has to be installed."""
        needed = {"WebKitWebDriver": "webkit2gtk-driver", "Xvfb": "xvfb"}
        return [package for program, package in needed.items() if not shutil.which(program)]

    def send(self, command: str, **parameters: Any) -> Any:
        """Send a command and return its value."""
        method, path = self.PATHS[command]
        url = f"http://127.0.0.1:{self.port}" + path.format(session=self.session, **parameters)
        body = json.dumps(parameters).encode() if method == "POST" else None
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body, method=method)) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{command}: {json.load(error)['value']['message']}") from None

    def close(self) -> None:
        """End the browser and its display."""
        with suppress(RuntimeError):
            self.send("DeleteSession")
        for process in (self.process, self.display):
            process.terminate()
            process.wait()


ENGINES = {engine.name: engine for engine in (Chromium, Firefox, WebKit)}


def installed() -> list[str]:
    """Return the names of the engines that this machine has."""
    return [name for name, engine in ENGINES.items() if not engine.missing()]


def resize(driver: WebDriver, width: int, height: int) -> None:
    """Make the page, not the window around it, that large."""
    driver.send("SetWindowRect", width=width, height=height)
    inside = driver.js("return [innerWidth, innerHeight]")
    driver.send("SetWindowRect", width=2 * width - inside[0], height=2 * height - inside[1])


def firefox() -> str | None:
    """Return the path of a Firefox."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


def free_port() -> int:
    """Return a port that nobody listens to."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port: int) -> bool:
    """Return whether somebody answers at a port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait(ready) -> None:
    """Return once ``ready()`` is true; TimeoutError if it stays false."""
    end = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError("the browser did not start")
        time.sleep(0.02)
