"""Containers of the image, run by podman and runc as an operator would run them: read-only, without capabilities."""

import json
import os
import resource
import shutil
import subprocess
import threading
import uuid

import grpc

from support.caller import Caller
from support.certificates import Authority

IMAGE = "localhost/touchstone:latest"
#: The image's user.
USER = 10001
#: The image's own address.
ADDRESS = "localhost:7443"
SHOP = "spiffe://example.org/shop"

#: A start takes a fraction of a second; podman's own part takes longer on a busy machine.
PATIENCE_SECONDS = 60

_PODMAN = ["podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs"]
_CONFINED = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "host"]


def _limit(name, number, wanted):
    """podman's default may be above this process's own, and then no container starts."""
    _, hard = resource.getrlimit(number)
    limit = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    return f"--ulimit={name}={limit}:{limit}"


#: What the service needs for its default of connections, and more processes than it has threads.
_LIMITS = [_limit("nofile", resource.RLIMIT_NOFILE, 65_536), _limit("nproc", resource.RLIMIT_NPROC, 4_096)]
#: Where no systemd runs, it cannot run health checks by itself; the tests do.
_ENVIRONMENT = {**os.environ, "DISABLE_HC_SYSTEMD": "true"}


def podman(*arguments, check=True):
    """The completed command."""
    done = subprocess.run(
        [*_PODMAN, *map(str, arguments)],
        env=_ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert not check or done.returncode == 0, f"podman {arguments}: {done.stderr}"
    return done


class Installation:
    """The directory that is mounted at /etc/touchstone, of the image's user."""

    def __init__(self, directory):
        directory.mkdir()
        self.directory = directory
        self.authority = Authority(directory)
        self.server = self.authority.issue_server()
        self.shop = self.authority.issue("shop", uris=[SHOP])
        configuration = {
            "tls": {
                "certificate": "/etc/touchstone/server.pem",
                "key": "/etc/touchstone/server.key",
                "client_authorities": f"/etc/touchstone/{self.authority.file.name}",
            },
            "callers": [{"name": "shop", "spiffe": SHOP, "applications": ["shop"], "methods": "*"}],
        }
        # JSON is YAML, too.
        (directory / "touchstone.yaml").write_text(json.dumps(configuration))
        directory.chmod(0o755)
        self.give_away()

    def give_away(self):
        """To the image's user."""
        for path in self.directory.iterdir():
            shutil.chown(path, USER, USER)

    @property
    def mount(self):
        return ["--volume", f"{self.directory}:/etc/touchstone:ro"]


class Containers:
    """The containers of one test, and the volume that they share one after the other."""

    def __init__(self):
        self._prefix = f"touchstone-test-{uuid.uuid4().hex[:12]}"
        self.volume = f"{self._prefix}-data"
        self._started = []

    @staticmethod
    def image():
        """What podman knows of the image; None if there is none."""
        told = podman("image", "inspect", IMAGE, check=False)
        return json.loads(told.stdout)[0] if told.returncode == 0 else None

    def run(self, *arguments, mounts=(), image_arguments=()):
        """Runs one to its end: the completed process."""
        volume = [] if any(":/var/lib/touchstone" in str(mount) for mount in mounts) else [f"--volume={self.volume}:/var/lib/touchstone"]
        options = [*_CONFINED, *_LIMITS, *volume, *mounts, *arguments]
        return podman("run", "--rm", *options, IMAGE, *image_arguments, check=False)

    def start(self, installation, *, arguments=(), mounts=None, image_arguments=()):
        """Starts the service, with the image's own command and its volume unless said otherwise, and waits until it serves."""
        name = f"{self._prefix}-{len(self._started)}"
        container = Container(name, installation)
        self._started.append(container)
        if mounts is None:
            mounts = ["--volume", f"{self.volume}:/var/lib/touchstone", *installation.mount]
        podman("run", "--detach", "--name", name, *_CONFINED, *_LIMITS, *mounts, *arguments, IMAGE, *image_arguments)
        container.wait_until_it_serves()
        return container

    def close(self):
        for container in self._started:
            container.remove()
        podman("volume", "rm", "--force", self.volume)


class Container:
    """A running service."""

    def __init__(self, name, installation):
        self.name = name
        self._installation = installation
        self._channels = []

    def caller(self):
        """A relying service with a certificate of its own, by stock gRPC."""
        shop = self._installation.shop
        credentials = grpc.ssl_channel_credentials(
            self._installation.authority.pem, private_key=shop.key_pem, certificate_chain=shop.pem
        )
        channel = grpc.secure_channel(ADDRESS, credentials, [("grpc.enable_http_proxy", 0)])
        self._channels.append(channel)
        return Caller(channel, "shop")

    def inspect(self):
        return json.loads(podman("inspect", self.name).stdout)[0]

    def status(self):
        """The kernel's word on the process: fields of /proc/PID/status."""
        with open(f"/proc/{self.inspect()['State']['Pid']}/status", encoding="utf-8") as lines:
            return dict(line.rstrip().split(":\t", 1) for line in lines if ":\t" in line)

    def run(self, *command):
        """In the container."""
        return podman("exec", self.name, *command, check=False)

    def is_healthy(self):
        """By the image's own health check."""
        return podman("healthcheck", "run", self.name, check=False).returncode == 0

    def wait_until_it_serves(self):
        """Reads what it prints as that comes."""
        following = subprocess.Popen(
            [*_PODMAN, "logs", "--follow", self.name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        ending = threading.Timer(PATIENCE_SECONDS, following.kill)
        ending.start()
        try:
            assert any(line.startswith("listening on ") for line in following.stdout), self.logs()
        finally:
            ending.cancel()
            following.kill()
            following.wait()

    def logs(self):
        done = podman("logs", self.name, check=False)
        return done.stdout + done.stderr

    def kill(self):
        """As a power failure, as far as a process can tell."""
        podman("kill", "--signal", "KILL", self.name)
        assert podman("wait", self.name).stdout.strip() == "137"
        self._close_channels()

    def terminate(self):
        """The exit code after SIGTERM."""
        podman("kill", "--signal", "TERM", self.name)
        self._close_channels()
        return int(podman("wait", self.name).stdout)

    def remove(self):
        self._close_channels()
        podman("rm", "--force", "--volumes", "--time", "0", self.name, check=False)

    def _close_channels(self):
        for channel in self._channels:
            channel.close()
        self._channels.clear()
