"""A `touchstone serve` process: started on a free port, stopped by signal, its output kept."""

import json
import os
import queue
import signal
import subprocess
import threading
from pathlib import Path

import grpc

from .stores import store_of

BINARY = Path(os.environ.get("TOUCHSTONE_BINARY") or Path(__file__).parents[3] / ".build/debug/touchstone")

#: Starting takes a fraction of a second; this much only where the machine is very busy.
START_SECONDS = 30
#: Longer than the service's own grace for running calls.
STOP_SECONDS = 30

_ANNOUNCEMENT = "listening on "

# The service refuses variables with its prefix that set nothing, and these are the tests' own.
_PREFIX = "TOUCHSTONE_"


def remove_own_variables():
    """In the process that runs tests, after all modules have read them."""
    for name in [name for name in os.environ if name.startswith(_PREFIX)]:
        del os.environ[name]


class Server:
    """One process. Its data directory and its store outlive it, so that another one can be started on the same."""

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
    ):
        """`store`: the URI of a database, or empty where something else names one; else what the tests run on. `http`: how
        many addresses of HTTP the arguments or the configuration name; their URLs are `urls`."""
        self.data_directory = Path(data_directory)
        self.store = store_of(self.data_directory) if store is None else store
        command = [BINARY, "serve", "--data-dir", self.data_directory]
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
        self.process = subprocess.Popen(
            [*command, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        self._channels = []
        self._expected_codes = {0, -signal.SIGKILL}
        self._errors = _Reader(self.process.stderr)
        self._output = _Reader(self.process.stdout)
        self.addresses = [self._announced_address() for _ in listen]
        self.address = self.addresses[0]
        self.urls = [self._announced_address() for _ in range(http)]

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

    def _announced_address(self):
        line = self._output.next_line(START_SECONDS)
        if line is None or not line.startswith(_ANNOUNCEMENT):
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"not serving: stdout {line!r}, stderr {self.errors!r}")
        return line.removeprefix(_ANNOUNCEMENT).strip()

    def verify_audit(self):
        """`touchstone audit verify`: the completed process."""
        if self.store is None:
            return run("audit", "verify", "--data-dir", self.data_directory)
        return run("audit", "verify", "--store", self.store)

    @property
    def errors(self):
        """What stands on stderr so far."""
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
        options = [
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.enable_http_proxy", 0),
            # Without it a client whose server was restarted waits for a second before it connects anew.
            ("grpc.initial_reconnect_backoff_ms", 50),
        ]
        address = address or self.address
        if authority is None:
            channel = grpc.insecure_channel(address, options)
        else:
            credentials = grpc.ssl_channel_credentials(
                authority.pem,
                private_key=certificate and certificate.key_pem,
                certificate_chain=certificate and certificate.pem,
            )
            channel = grpc.secure_channel(address, credentials, options)
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

    def _close_channels(self):
        for channel in self._channels:
            channel.close()
        self._channels.clear()


class _Reader:
    """Reads a pipe to its end, so that the process never waits for us."""

    def __init__(self, stream):
        self._lines = queue.SimpleQueue()
        self._text = []
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream):
        with stream:
            for line in stream:
                self._text.append(line)
                self._lines.put(line)
        self._lines.put(None)

    def next_line(self, timeout):
        """The next line; None at the end."""
        return self._lines.get(timeout=timeout)

    @property
    def text(self):
        return "".join(self._text)


def run(*arguments, environment=None, stdin=""):
    """Runs a command that is no server: its completed process, with exit code, stdout and stderr. `environment`: more of
    it."""
    return subprocess.run(
        [BINARY, *arguments],
        env={**os.environ, **(environment or {})},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
    )


def make_keys(directory):
    """Where there are none: on PostgreSQL a service makes none by itself."""
    if directory.exists():
        return
    directory.parent.mkdir(parents=True, exist_ok=True)
    made = run("keys", "new", directory)
    assert made.returncode == 0, made.stderr


def run_to_end(data_directory, *, arguments=(), binary=BINARY, **options):
    """Starts a server that is expected to refuse: its completed process, with exit code, stdout and stderr."""
    command = [binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", data_directory, *arguments]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=START_SECONDS, check=False, **options
    )
