"""A `touchstone serve` process: started on a free port, stopped by signal, its output kept."""

import json
import os
import queue
import signal
import subprocess
import threading
import time
from pathlib import Path

import grpc

from .stores import store_of

BINARY = Path(os.environ.get("TOUCHSTONE_BINARY") or Path(__file__).parents[3] / ".build/debug/touchstone")

#: Starting takes a fraction of a second; this much only where the machine is very busy.
START_SECONDS = 120
#: Longer than the service's own grace for running calls.
STOP_SECONDS = 30

#: Connections of their own, which are made anew soon after a restart.
CHANNEL_OPTIONS = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 50),
]

_ANNOUNCEMENT = "listening on "

# The service refuses variables with its prefix that set nothing, and these are the tests' own.
_PREFIX = "TOUCHSTONE_"


def remove_own_variables():
    """In the process that runs tests, after all modules have read them."""
    for name in [name for name in os.environ if name.startswith(_PREFIX)]:
        del os.environ[name]


class Listening:
    """A program that prints where it listens, one address a line. What it prints is read as it comes."""

    def __init__(self, command, count, *, environment, stderr=subprocess.PIPE, is_awaited=True, **options):
        """`count`: of its addresses. `stderr`: another file than a pipe, which nobody here reads. `options`: Popen's."""
        self._count = count
        self._channels = []
        self._expected_codes = {0, -signal.SIGKILL}
        self._began = time.monotonic()
        options = {"stdin": subprocess.DEVNULL, **options}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment, **options
        )
        self._output = _Reader(self.process.stdout)
        self._errors = _Reader(self.process.stderr) if self.process.stderr else None
        if is_awaited:
            self.await_addresses()

    def await_addresses(self):
        self.addresses = [self._announced_address() for _ in range(self._count)]
        self.start_seconds = time.monotonic() - self._began

    @property
    def address(self):
        return self.addresses[0]

    def _announced_address(self):
        line = self._output.next_line(START_SECONDS)
        if line is None or not line.startswith(_ANNOUNCEMENT):
            if line is not None:
                self.process.kill()
            self.process.wait(STOP_SECONDS)
            raise AssertionError(f"not serving: stdout {line!r}, stderr {self.errors!r}")
        return line.removeprefix(_ANNOUNCEMENT).strip()

    @property
    def errors(self):
        """What stands on stderr so far; all of it once the process has ended."""
        if self.process.poll() is not None:
            self._errors.wait_for_end()
        return self._errors.text

    def next_error(self, text):
        """The next line on stderr that contains the text: waits for it."""
        return self.next_errors(text)[0]

    def next_errors(self, *texts):
        """For each text the next line that contains it, in whatever order they come."""
        found = {}
        while len(found) < len(texts) and (line := self._errors.next_line(START_SECONDS)) is not None:
            found |= {text: line for text in texts if text in line and text not in found}
        if missing := [text for text in texts if text not in found]:
            raise AssertionError(f"ended without {missing}: {self.errors!r}")
        return [found[text] for text in texts]

    def channel(self, *, address=None, authority=None, certificate=None):
        """A connection of its own, closed with the server. Over TLS where there is an authority to vouch for the server,
        and with a certificate of the client's own where there is one."""
        address = address or self.address
        if authority is None:
            channel = grpc.insecure_channel(address, CHANNEL_OPTIONS)
        else:
            credentials = grpc.ssl_channel_credentials(
                authority.pem,
                private_key=certificate and certificate.key_pem,
                certificate_chain=certificate and certificate.pem,
            )
            channel = grpc.secure_channel(address, credentials, CHANNEL_OPTIONS)
        self._channels.append(channel)
        return channel

    def terminate(self):
        """SIGTERM: drains, and must exit 0 with nothing more on stdout."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(STOP_SECONDS) == 0, self.errors
        assert self._output.next_line(STOP_SECONDS) is None
        self._close_channels()

    def ends_with(self, code):
        """It ends by itself, with this exit code, which `close` then takes for right."""
        assert self.process.wait(STOP_SECONDS) == code, self.errors
        self._expected_codes.add(code)

    def kill(self):
        """SIGKILL: as a power failure, as far as a process can tell."""
        self.process.kill()
        self.process.wait()
        self._close_channels()

    def close(self):
        """Whatever a test left: an end without a crash."""
        if self.process.poll() is None:
            self.terminate()
        assert self.process.returncode in self._expected_codes, self.errors
        self._close_channels()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _close_channels(self):
        for channel in self._channels:
            channel.close()
        self._channels.clear()


class Server(Listening):
    """`touchstone serve`. Its data directory and its store outlive it, so that another one can be started on the same."""

    def __init__(
        self,
        data_directory,
        *,
        configuration=None,
        arguments=(),
        listen=("127.0.0.1:0",),
        environment=None,
        store=None,
        http=0,
        program=(BINARY,),
        **options,
    ):
        """`store`: the URI of a database, or empty where something else names one; else what the tests run on. `http`: how
        many addresses of HTTP the arguments or the configuration name; their URLs are `urls`. `program`: with what runs
        it in front."""
        self.data_directory = Path(data_directory)
        self.store = store_of(self.data_directory) if store is None else store
        command = [*program, "serve", "--data-dir", self.data_directory]
        if self.store:
            command += ["--store", self.store]
        given = {*map(str, arguments), *(environment or {}), *(configuration if isinstance(configuration, dict) else {})}
        has_keys = {"--keys", "TOUCHSTONE_KEYS", "keys"} & given
        if self.store is not None and not has_keys:
            make_keys(self.data_directory / "keys")
        for address in listen:
            command += ["--listen", address]
        if configuration is not None:
            self.write_configuration(configuration)
            command += ["--config", self._configuration_file]
        self._listen = len(listen)
        environment = {**os.environ, **(environment or {})}
        super().__init__([*command, *arguments], self._listen + http, environment=environment, **options)

    def await_addresses(self):
        super().await_addresses()
        self.addresses, self.urls = self.addresses[: self._listen], self.addresses[self._listen :]

    @property
    def _configuration_file(self):
        return self.data_directory.with_suffix(".yaml")

    def write_configuration(self, configuration):
        """Settings by name, or the text. In one step, so that nobody reads half of it."""
        if not isinstance(configuration, str):
            configuration = "".join(
                f"{key}: {value if isinstance(value, str) else json.dumps(value)}\n"
                for key, value in configuration.items()
            )
        new = self._configuration_file.with_suffix(".new")
        new.write_text(configuration)
        # The service takes no secrets from a file that other users can read.
        new.chmod(0o600)
        new.replace(self._configuration_file)

    def reload(self, configuration=None):
        """SIGHUP, with another configuration if there is one; answers what the log says of it."""
        if configuration is not None:
            self.write_configuration(configuration)
        self.process.send_signal(signal.SIGHUP)
        return self.next_error("configuration reloaded")

    def verify_audit(self):
        """`touchstone audit verify`: the completed process."""
        if self.store is None:
            return run("audit", "verify", "--data-dir", self.data_directory)
        return run("audit", "verify", "--store", self.store)


class _Reader:
    """Reads a pipe to its end, so that the process never waits for us."""

    def __init__(self, stream):
        self._lines = queue.SimpleQueue()
        self._text = []
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream):
        with stream:
            for line in stream:
                self._text.append(line)
                self._lines.put(line)
        self._lines.put(None)

    def next_line(self, timeout):
        """The next line; None at the end."""
        return self._lines.get(timeout=timeout)

    def wait_for_end(self):
        """Until all is read. A process may have ended before its last words are."""
        self._thread.join(STOP_SECONDS)

    @property
    def text(self):
        return "".join(self._text)


def run(*arguments, environment=None, stdin="", program=BINARY, **options):
    """Runs a command that is no server: its completed process, with exit code, stdout and stderr. `environment`: more of
    it. `options`: of `subprocess.run`."""
    return subprocess.run(
        [program, *arguments],
        env={**os.environ, **(environment or {})},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
        **options,
    )


def run_to_end(data_directory, *, arguments=(), **options):
    """Starts a server that is expected to refuse."""
    return run("serve", "--listen", "127.0.0.1:0", "--data-dir", data_directory, *arguments, **options)


def make_keys(directory):
    """Where there are none: on PostgreSQL a service makes none by itself."""
    if directory.exists():
        return
    directory.parent.mkdir(parents=True, exist_ok=True)
    made = run("keys", "new", directory)
    assert made.returncode == 0, made.stderr
