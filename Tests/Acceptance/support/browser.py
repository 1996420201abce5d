"""Chromium without a window, driven over the pipes of its DevTools protocol, with an authenticator that it simulates."""

import base64
import itertools
import json
import os
import shutil
import subprocess

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")

#: Chromium reads commands from the first and writes to the second (--remote-debugging-pipe).
COMMANDS, ANSWERS = 3, 4

#: By their names: the text that they type, if any, and their code.
KEYS = {"Tab": ("", 9), "Enter": ("\r", 13), "Space": (" ", 32), "Escape": ("", 27)}


class Browser:
    """One page. A message that does not come ends the test by the browser's own end: it is started with a time limit."""

    LIFETIME_SECONDS = 60

    def __init__(self, directory, *, lifetime_seconds=LIFETIME_SECONDS):
        theirs, self.commands = os.pipe()
        answers, theirs_too = os.pipe()
        flags = f"--headless --no-sandbox --disable-gpu --remote-debugging-pipe --user-data-dir={directory}"
        pipes = f"{COMMANDS}<&{theirs} {ANSWERS}>&{theirs_too}"
        self.process = subprocess.Popen(
            ["bash", "-c", f"exec timeout {lifetime_seconds} {CHROMIUM} {flags} about:blank {pipes}"],
            pass_fds=(theirs, theirs_too),
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs)
        os.close(theirs_too)
        self.answers = os.fdopen(answers, "rb", buffering=0)
        self.received = b""
        self.numbers = itertools.count(1)
        self.session = None
        #: Pages that were loaded.
        self.loads = 0
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def close(self):
        self.process.terminate()
        self.process.wait()
        os.close(self.commands)
        self.answers.close()

    def call(self, method, **params):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        answer = self.next(lambda message: message.get("id") == number)
        assert "error" not in answer, answer
        return answer["result"]

    def next(self, is_wanted):
        """The next message of that kind; others before it are dropped."""
        while True:
            while b"\0" not in self.received:
                read = self.answers.read(65_536)
                assert read, "Chromium has ended"
                self.received += read
            message, self.received = self.received.split(b"\0", 1)
            message = json.loads(message)
            self.loads += message.get("method") == "Page.loadEventFired"
            if is_wanted(message):
                return message

    def open(self, url):
        self.call("Page.enable")
        self.load(lambda: self.call("Page.navigate", url=url))

    def load(self, action):
        """Does what loads a page, and waits until it is there."""
        before = self.loads
        action()
        while self.loads == before:
            self.next(lambda message: message.get("method") == "Page.loadEventFired")
        # What has the attribute autofocus gets the focus with the first frame.
        self.run("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")

    def press(self, key, **modifiers):
        text, code = KEYS[key]
        event = {"key": " " if key == "Space" else key, "code": key, "windowsVirtualKeyCode": code} | modifiers
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        """Into what has the focus, as a keyboard or an input method does."""
        self.call("Input.insertText", text=text)

    def show(self, *, width, height=800, dark=False):
        """As on a screen of that width, with the system's appearance."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, file):
        """Of the whole page."""
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(image["data"]))

    def run(self, script):
        """The value of an expression, or of its promise."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, userGesture=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]["exception"]["description"]
        return answer["result"].get("value")

    def add_authenticator(self, **options):
        """One in the machine, which verifies its user and touches itself, unless said otherwise."""
        self.call("WebAuthn.enable")
        usual = {
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": True,
            "isUserVerified": True,
            "automaticPresenceSimulation": True,
        }
        return self.call("WebAuthn.addVirtualAuthenticator", options=usual | options)["authenticatorId"]
