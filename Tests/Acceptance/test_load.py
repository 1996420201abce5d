"""The load client: nothing is lost from its count, and its exit code says what a run was worth."""

import contextlib
import json
import math
import os
import pty
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from support.load import LOAD, NEAR_ITS_END, end, latencies, run_command, run_load, start_and_await

RATE = 200
VALID, CLIENT_LIMITED, MISSED = 0, 70, 99
#: A machine that also does other work may make the client late.
FINE = (VALID, CLIENT_LIMITED)

CLASSES = ("succeeded", "wrong", "failed", "timed_out", "unfinished", "unsent")
DOCS = Path(__file__).parents[2] / "docs/LOAD.md"


def assert_complete(report):
    assert sum(report[name] for name in CLASSES) == report["due"]
    assert report["errors"] == sum(report[name] for name in ("wrong", "failed", "timed_out", "unfinished"))
    assert sum(report["failed_by_status"].values()) == report["failed"]
    for window in report["windows"]:
        assert sum(window[name] for name in CLASSES) == window["due"]
    assert sum(window["due"] for window in report["windows"]) == report["due"]
    assert sum(window["start"] < report["seconds"] for window in report["windows"]) == len(report["windows"])


def test_a_service_that_stands_still_at_the_end_is_reported(start):
    server = start()
    load = start_and_await(
        server, "--json", "--rate", RATE, "--duration", "5s", "--warmup", "1s", shows=NEAR_ITS_END
    )  # fmt: skip
    stopped = time.time()
    server.process.send_signal(signal.SIGSTOP)
    try:
        ended = end(load)
    finally:
        server.process.send_signal(signal.SIGCONT)
    report = ended.report
    assert ended.returncode == MISSED
    assert report["due"] == 5 * RATE
    assert_complete(report)
    stall = report["started_at"] + report["seconds"] - stopped
    assert stall >= 0.5
    assert report["max_us"] >= 500_000
    assert report["unfinished"] >= (stall - 0.2) * RATE
    assert report["stalls"][-1]["seconds"] >= 1.4


def test_a_service_that_is_killed_is_reported(start):
    server = start()
    load = start_and_await(server, "--json", "--rate", RATE, "--duration", "4s", "--warmup", "1s")
    server.kill()
    ended = end(load)
    assert ended.returncode == MISSED
    assert_complete(ended.report)
    assert ended.report["due"] == 4 * RATE
    assert ended.report["failed_by_status"]["UNAVAILABLE"] > RATE / 2


@pytest.mark.parametrize(
    ("options", "due"),
    [
        (["--shape", "spike:50-300"], 100),
        (["--callers", "5"], None),
    ],
)
def test_every_shape_sends_what_is_due(server, options, due):
    ended = run_load(server, "--json", "--scenario", "preflight", "--duration", "1s", "--warmup", "100ms", *options)
    assert ended.returncode in FINE, ended.stderr
    assert_complete(ended.report)
    assert ended.report["succeeded"] == ended.report["due"] > 0
    assert due in (None, ended.report["due"])


def test_a_client_that_is_too_small_says_so(server):
    """More than it can send: it ends, and loses no call from the count."""
    ended = run_load(
        server, "--json", "--scenario", "preflight", "--rate", 500_000, "--duration", "1s", "--warmup", "0s",
        "--grace", "1s", "--allow-errors",
    )  # fmt: skip
    assert ended.report["due"] == 500_000
    assert_complete(ended.report)
    assert any("the client" in reason for reason in ended.report["reasons"])
    # 99 only where no call at all succeeded.
    assert ended.returncode == (CLIENT_LIMITED if ended.report["succeeded"] else MISSED)


def test_objectives_decide_the_exit_code(server):
    def code(*slo):
        return run_load(server, "--json", "--rate", RATE, "--duration", "1s", "--warmup", "0s", *slo).returncode

    assert code("--slo", "p99<10s,errors<0.1%,rate>10") in FINE
    assert code("--slo", "p99<1us") == MISSED


def test_the_search_finds_a_rate(server):
    ended = run_load(
        server, "--json", "--scenario", "preflight", "--find-max", "--slo", "rate<150", "--duration", "300ms",
        "--warmup", "100ms",
    )  # fmt: skip
    search = ended.report["search"]
    assert {trial["met"] for trial in search["trials"]} == {False, True}
    assert 0 < search["max_rate"] < 200
    assert ended.report["due"] == pytest.approx(0.3 * search["max_rate"], abs=1)


# Reports


@pytest.fixture(scope="module")
def outputs(server, tmp_path_factory):
    """A run's report and its page."""
    page = tmp_path_factory.mktemp("load") / "load.html"
    ended = run_load(
        server, "--json", "--rate", RATE, "--duration", "3s", "--slo", "p99<10s,errors<1%", "--html", page,
    )  # fmt: skip
    assert ended.returncode in FINE, ended.stdout
    return ended.report, page.read_text(encoding="utf-8")


def test_histograms_have_every_call(outputs):
    report, _ = outputs
    windows = sorted(latency for window in report["windows"] for latency in latencies(window))
    for calls in (latencies(report), windows):
        assert len(calls) == report["due"]
        for key, percentile in {"p50_us": 50, "p90_us": 90, "p99_us": 99, "p999_us": 99.9, "max_us": 100}.items():
            rank = math.ceil(percentile / 100 * report["due"])
            assert calls[rank - 1] == pytest.approx(report[key], rel=0.002)


#: As the docs name them.
TYPES = {"integer": int, "number": (int, float), "string": str, "object": dict, "array": list}


def documented(heading):
    """Key and type of each row of the table below a heading; a row may have several keys."""
    section = DOCS.read_text(encoding="utf-8").split(f"{heading}\n", 1)[1].split("\n#", 1)[0]
    rows = re.findall(r"^\| (`[^|]+`) \| (\w+)", section, re.MULTILINE)
    return {key: kind for keys, kind in rows for key in re.findall(r"`([a-z0-9_]+)`", keys)}


def test_the_json_is_as_documented(outputs):
    report, _ = outputs
    keys = documented("## JSON")
    # Keys that only some runs have.
    optional = {"search", "service"}
    assert set(report) | optional == set(keys)
    assert report["schema_version"] == 1
    for key, value in report.items():
        assert isinstance(value, TYPES[keys[key]]), key
        assert not isinstance(value, bool), key


def test_the_service_is_measured_where_it_is_local(outputs, server):
    report, _ = outputs
    assert report["service"]["pid"] == server.process.pid
    assert report["service"]["cpu_seconds"] > 0
    assert report["service"]["max_megabytes"] > 1


# The page


def test_the_page_needs_nothing_beside_itself(outputs):
    _, page = outputs
    assert not re.search(r"(src|href|url\()", page)
    assert page.count("<svg") >= 3
    assert page.count("<polyline") >= 7


CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_fits_its_window(outputs, tmp_path, width):
    """As Chromium lays it out: nothing is wider than the window. In a frame, since a window has a least width."""
    page = json.dumps(outputs[1]).replace("</", "<\\/")
    frame = tmp_path / "frame.html"
    frame.write_text(
        f"""<!doctype html><body><iframe id="page" style="width:{width}px;height:2000px;border:0"></iframe><script>
        page.onload = () => {{
          const seen = page.contentDocument
          const all = [...seen.querySelectorAll("body *")]
          const wide = all.filter(e => e.getBoundingClientRect().right > {width} + 1).map(e => e.tagName)
          document.title = JSON.stringify({{wide, scroll: seen.documentElement.scrollWidth,
            charts: [...seen.querySelectorAll("svg")].map(e => e.getBoundingClientRect().height)}})
        }}
        page.srcdoc = {page}
        </script></body>""",
        encoding="utf-8",
    )
    shown = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom", frame.as_uri()],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    laid_out = json.loads(re.search(r"<title>(.*?)</title>", shown.stdout)[1])
    assert laid_out["wide"] == []
    assert laid_out["scroll"] <= width
    assert len(laid_out["charts"]) >= 3
    assert all(height > 100 for height in laid_out["charts"])


# While it runs


def test_a_terminal_gets_a_live_view(server):
    controller, terminal = pty.openpty()
    command = [LOAD, "--target", server.address, "--rate", str(RATE), "--duration", "3s", "--warmup", "0s"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, text=True) as load:
        os.close(terminal)
        stdout = load.communicate(timeout=60)[0]
    shown = b""
    # EIO is a terminal's end.
    with contextlib.suppress(OSError):
        while chunk := os.read(controller, 65_536):
            shown += chunk
    os.close(controller)
    shown = shown.decode()
    for part in ("due ", "answered ", "errors 0", "p50 ", "p90 ", "p99 ", "p99.9 ", "█", " s left"):
        assert part in shown
    # Erased at the end, so that the table stands alone.
    assert shown.endswith("\x1b[3A\x1b[J")
    assert re.search(r"^due +600 ", stdout, re.MULTILINE)


def test_elsewhere_there_are_plain_lines(server):
    ended = run_load(server, "--scenario", "preflight", "--rate", "50", "--duration", "7s", "--warmup", "0s")
    assert re.search(r"^\d+ s: due \d+/s, answered \d+/s, errors 0, ", ended.stderr, re.MULTILINE)
    assert "\x1b" not in ended.stderr


# Bad input


@pytest.mark.parametrize(
    "options",
    [["--rate", "-1"], ["--find-max"], ["--tls-authorities", "/no/such/file"], ["--timeout", "0"], ["--timeout", "11m"]],
)
def test_wrong_options_are_refused(options):
    ended = run_command("--target", "127.0.0.1:1", *options)
    assert ended.returncode == 64
    assert ended.stderr
    assert not ended.stdout


def test_a_service_out_of_reach_is_refused():
    for options in ([], ["--seeded", "5"]):
        ended = run_command("--target", "127.0.0.1:1", *options)
        assert ended.returncode == 69
        assert len(ended.stderr.splitlines()) == 1
        assert not ended.stdout
