"""Debian's Prometheus and Alertmanager on free ports, with the rules and routes of `deploy/prometheus`, and a receiver of alerts."""

import collections
import http.server
import json
import math
import queue
import re
import subprocess
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

from .http import request
from .scaling import scaled

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy/prometheus"
RUNBOOK = ROOT / "docs/RUNBOOK.md"

SCRAPE_INTERVAL = "1s"
#: For programs that start in one, on a busy machine.
START_SECONDS = 20
STOP_SECONDS = 10
#: Between two looks at what Prometheus knows.
LOOK_SECONDS = 0.5


class Monitoring:
    """Prometheus, which collects metrics at the addresses, and all that its alerts go through."""

    def __init__(self, directory, addresses):
        self.receiver = Receiver()
        self._alertmanager = self._start_alertmanager(directory)
        self._prometheus = self._start_prometheus(directory, addresses)
        # It listens before it takes queries.
        unready = self.await_all({"Prometheus": lambda: request(self._prometheus.url, "/-/ready").status == 200}, START_SECONDS)
        if unready:
            self.close()
        assert unready == []

    def _start_alertmanager(self, directory):
        routes = scaled((DEPLOY / "alertmanager.yaml").read_text())
        # As docs/DEPLOY.md says: a receiver of one's own takes the place of the one that reaches no person.
        routes, count = re.subn(
            r"(?m)^(receivers:\n  - name: operators)$", rf'\1\n    webhook_configs: [{{url: "{self.receiver.url}"}}]', routes
        )
        assert count == 1, routes
        file = directory / "alertmanager.yaml"
        file.write_text(routes)
        storage = directory / "alertmanager"
        # Without a port of a cluster's own.
        return Program(
            "prometheus-alertmanager", f"--config.file={file}", f"--storage.path={storage}", "--cluster.listen-address="
        )

    def _start_prometheus(self, directory, addresses):
        rules = directory / "rules"
        rules.mkdir()
        for file in (DEPLOY / "rules").glob("*.yaml"):
            (rules / file.name).write_text(scaled(file.read_text()))
        configuration = {
            "global": {
                "scrape_interval": SCRAPE_INTERVAL,
                "scrape_timeout": SCRAPE_INTERVAL,
                "evaluation_interval": SCRAPE_INTERVAL,
            },
            "rule_files": [f"{rules}/*.yaml"],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [self._alertmanager.address]}]}]},
            "scrape_configs": [{"job_name": "touchstone", "static_configs": [{"targets": addresses}]}],
        }
        # JSON is YAML.
        file = directory / "prometheus.yaml"
        file.write_text(json.dumps(configuration))
        return Program("prometheus", f"--config.file={file}", f"--storage.tsdb.path={directory / 'prometheus'}")

    # What Prometheus knows

    def query(self, expression):
        """The series of an instant query: labels and number."""
        found = self._get("query", query=expression)["result"]
        return [(series["metric"], float(series["value"][1])) for series in found]

    def has_data(self, expression):
        return any(math.isfinite(number) for _, number in self.query(expression))

    def names(self):
        """Of all metrics."""
        return set(self._get("label/__name__/values"))

    def await_all(self, conditions, seconds):
        """Until each of the conditions, by name, holds. Answers the names of those that never did."""
        left = dict(conditions)
        deadline = time.monotonic() + seconds
        while True:
            left = {name: condition for name, condition in left.items() if not condition()}
            if not left or time.monotonic() > deadline:
                return sorted(left)
            time.sleep(LOOK_SECONDS)

    def _get(self, path, **parameters):
        answer = request(self._prometheus.url, f"/api/v1/{path}?{urlencode(parameters)}")
        assert answer.status == 200, (parameters, answer.text)
        return json.loads(answer.body)["data"]

    def close(self):
        self._prometheus.close()
        self._alertmanager.close()
        self.receiver.close()


def check_runbook(alert):
    """The alert's texts are complete, and its link leads to its section of the runbook. Returns the section's heading."""
    name, annotations = alert["labels"]["alertname"], alert["annotations"]
    assert annotations["summary"]
    assert "no value" not in annotations["description"]
    assert annotations["runbook_url"].endswith(f"/docs/RUNBOOK.md#{name.lower()}")
    headings = re.findall(r"(?m)^#+ (\w+)$", RUNBOOK.read_text(encoding="utf-8"))
    assert name in headings
    return name


class Program:
    """One that serves HTTP on a free port, and logs which."""

    def __init__(self, *command):
        self._name = command[0]
        self._process = subprocess.Popen(
            [*command, "--web.listen-address=127.0.0.1:0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._log = collections.deque(maxlen=50)
        found = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(found,), daemon=True).start()
        self.address = found.get(timeout=START_SECONDS)
        assert self.address is not None, f"{self._name} ended: {''.join(self._log)}"
        self.url = f"http://{self.address}"

    def _read(self, found):
        with self._process.stderr as log:
            for line in log:
                self._log.append(line)
                if listening := re.search(r'msg="Listening on" address=(\S+)', line):
                    found.put(listening[1])
        found.put(None)

    def close(self):
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Receiver:
    """Takes alerts as Alertmanager's webhooks send them."""

    def __init__(self):
        self._alerts = []
        self._changed = threading.Condition()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                receiver._take(sent["alerts"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def _take(self, alerts):
        with self._changed:
            self._alerts += alerts
            self._changed.notify_all()

    def next_alert(self, name, seconds, **labels):
        """The first firing alert of this name and these labels: waits for it."""

        def found():
            for alert in self._alerts:
                wanted = {"alertname": name, **labels}
                if alert["status"] == "firing" and wanted.items() <= alert["labels"].items():
                    return alert
            return None

        with self._changed:
            alert = self._changed.wait_for(found, seconds)
            names = sorted({alert["labels"]["alertname"] for alert in self._alerts})
            assert alert, f"no {name} {labels} in {seconds} s, but {names}"
            return alert

    def close(self):
        self._server.shutdown()
        self._server.server_close()
