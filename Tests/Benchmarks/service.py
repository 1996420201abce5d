"""A service under measurement, the load in front of it, the PostgreSQL that it may stand on, and V: what everything is compared with."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / ".build/release"
#: TOUCHSTONE_BINARY: another binary than the release.
os.environ.setdefault("TOUCHSTONE_BINARY", str(BUILD / "touchstone"))
TOUCHSTONE_LOAD = BUILD / "touchstone-load"
sys.path.insert(0, str(ROOT / "Tests/Acceptance"))

from support.postgres import PostgresServer  # noqa: E402
from support.server import BINARY as TOUCHSTONE  # noqa: E402
from support.server import Listening, Server, remove_own_variables  # noqa: E402

remove_own_variables()

#: How long each load of a measurement runs.
DURATION = os.environ.get("DURATION", "10s")
CORES = sorted(os.sched_getaffinity(0))

#: touchstone-load's exit codes: an objective was missed, or no call succeeded; its own CPU was used up.
MISSED, CLIENT_LIMITED = 99, 70

#: Files that a client and the service have open beside their connections: the service keeps a part of its limit to its
#: own files.
_SPARE_DESCRIPTORS = 400

DATABASE = "touchstone"
#: As a machine has that serves a database; the tests' own is smaller.
_POSTGRES_SETTINGS = {"shared_buffers": "512MB", "max_wal_size": "4GB"}


def install(group):
    """The system packages of a group of deploy/install-packages."""
    subprocess.run([ROOT / "deploy/install-packages", group], check=True)


def built(program):
    """The path of another release program than the service and the load client."""
    subprocess.run(["make", "--no-print-directory", f"release-{program}"], cwd=ROOT, check=True)
    return BUILD / program


def new_postgres(**settings):
    """With fsync, on this machine."""
    return PostgresServer(_POSTGRES_SETTINGS | settings, fsync=True)


def touchstone(*arguments, store):
    """A command that is no server."""
    environment = {**os.environ, "TOUCHSTONE_STORE": store}
    subprocess.run([TOUCHSTONE, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)


def pinned(command, cores):
    """The command, confined to these cores; to all, if there are none."""
    return ["taskset", "--cpu-list", ",".join(map(str, cores or CORES)), *command]


def resident_bytes(pid):
    """proc(5)."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) * 1_024


def cpu_nanoseconds(pid):
    """Of all its threads that still run, as the scheduler counts it (proc(5), schedstat)."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue  # It ended meanwhile.
    return total


def allow_most_connections():
    """Raises this process's limit of open files and, because it is inherited, the service's and the load client's. Answers how
    many connections fit below it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard - _SPARE_DESCRIPTORS


def connection_limits(count):
    """The configuration of a service that takes so many connections, although they come from one address, and most of them
    are strangers' because no call on them was admitted yet."""
    return f"limits: {{connections: {2 * count}, strangers_per_address: {2 * count}}}\n"


def verification_microseconds():
    """V: one core's cost of one ECDSA verification on P-256, by the machine's OpenSSL. It is CPU time, not elapsed time."""
    command = ["openssl", "speed", "-seconds", "1", "ecdsap256"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    # "256 bits ecdsa (nistp256)   0.0000s   0.0001s  27382.8   7802.9": signatures and verifications in a second.
    return 1e6 / float(ended.stdout.split()[-1])


class Identity:
    """A P-256 key in a directory, and a certificate of it for 127.0.0.1."""

    def __init__(self, directory):
        self.certificate, self.key = directory / "certificate.pem", directory / "key.pem"
        self._make("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.key)
        self.key.chmod(0o600)

    def renew(self):
        """With the same key, so that clients that trust the first certificate trust the new one."""
        self._make("-key", self.key)

    def _make(self, *key):
        command = ["openssl", "req", "-x509", *key, "-days", "2", "-subj", "/CN=touchstone"]
        command += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", self.certificate]
        subprocess.run(command, check=True, capture_output=True)


class Encryption:
    """A service's TLS, and a caller with a key, who may do what loads do."""

    def __init__(self, directory):
        self.identity = Identity(directory)
        command = [TOUCHSTONE, "callers", "new-key", "load"]
        key, entry = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n", 1)
        key_file = directory / "caller.key"
        key_file.write_text(key)
        key_file.chmod(0o600)
        self.configuration = f"""
tls: {{certificate: {self.identity.certificate}, key: {self.identity.key}}}
callers:
{entry.rstrip()}
    applications: [touchstone-load]
    methods: [EvaluationService/*, BindingService/*]
"""
        self.load_options = ["--tls-authorities", self.identity.certificate, "--key-file", key_file]


class Measured:
    """What a server under measurement has beside `Listening`. Its log is a file, which costs no reader."""

    def _prepare(self, directory, *, is_on_one_core):
        """Its log. On one core, its load has the other cores."""
        self._load_cores = CORES[1:] if is_on_one_core else CORES
        self._log = (directory / "log").open("w+")
        return self._log

    @property
    def errors(self):
        return Path(self._log.name).read_text()

    @property
    def pid(self):
        return self.process.pid

    @property
    def megabytes(self):
        return self.resident_bytes / 2**20

    @property
    def resident_bytes(self):
        return resident_bytes(self.pid)

    def load(self, *options, duration=DURATION):
        """touchstone-load, begun."""
        command = [TOUCHSTONE_LOAD, "--target", self.address, "--json", "--duration", duration, *map(str, options)]
        return subprocess.Popen(pinned(command, self._load_cores), stdout=subprocess.PIPE, text=True)


class Service(Measured, Server):
    """`touchstone serve` in a directory, until it is stopped."""

    def __init__(
        self, directory, store="sqlite", configuration=None, *, is_on_one_core=False, has_one_loop=False, program=(TOUCHSTONE,)
    ):
        """`configuration`: YAML. On one core it has one event loop."""
        super().__init__(
            directory / "data",
            store=store,
            configuration=configuration,
            program=pinned(program, CORES[:1]) if is_on_one_core else program,
            arguments=["--shards", "1"] if is_on_one_core or has_one_loop else [],
            stderr=self._prepare(directory, is_on_one_core=is_on_one_core),
        )

    def begin_reload(self):
        """Without waiting for it."""
        self.process.send_signal(signal.SIGHUP)

    def stop(self):
        """Answers what it logged."""
        self.close()
        return self.errors


def report(load, *, is_saturating=False, may_miss=False):
    """The report of touchstone-load at its end. A saturating load may use up the client's CPU, which spoils latencies alone. A load
    that may miss its objectives is one that asks whether they are met."""
    output = load.communicate()[0]
    report = json.loads(output) if output else {}
    if load.returncode == CLIENT_LIMITED:
        if not is_saturating:
            print(f"touchstone-load was the limit: {report['reasons']}", file=sys.stderr, flush=True)
    elif load.returncode != 0 and not (may_miss and load.returncode == MISSED):
        sys.exit(f"touchstone-load ended with {load.returncode}: {report.get('reasons')}")
    return report


def server_microseconds(report):
    """The server's own CPU for each call of the measured part, user and system, over all its threads."""
    samples = report["service"]["samples"]
    return sum(sample["cores"] for sample in samples) / len(samples) / report["rate"] * 1e6
