"""A Debian in a directory, made by mmdebstrap. No systemd runs in it: commands run by chroot, and so does the unit's own ExecStart."""

import configparser
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from support.caller import Caller
from support.server import Listening

RELEASE = "bookworm"
SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
UNIT = "lib/systemd/system/touchstone.service"
CONFIGURATION = "etc/touchstone/touchstone.yaml"

#: Downloads and unpacks packages.
INSTALL_SECONDS = 900


class Debian:
    def __init__(self):
        # Short, because a Unix socket's path has at most 107 bytes. Other users pass it, as they pass "/".
        self.root = Path(tempfile.mkdtemp(prefix="touchstone-deb-", dir="/tmp"))
        self.root.chmod(0o755)
        sources = [SOURCES] if SOURCES.exists() and RELEASE in Path("/etc/os-release").read_text() else []
        command = ["mmdebstrap", "--quiet", "--variant=minbase", "--skip=output/dev", RELEASE, self.root, *sources]
        subprocess.run(command, check=True, timeout=INSTALL_SECONDS, stdin=subprocess.DEVNULL)
        for name in ["resolv.conf", "hosts"]:
            shutil.copy(f"/etc/{name}", self.root / "etc" / name)
        self.run("apt-get", "update", "-qq")

    def chroot(self, *command, user="root:root"):
        """The command line that runs it there, in namespaces of its own. Swift's runtime reads arguments in /proc."""
        inside = f'mount -t proc proc "{self.root}/proc" && exec chroot --userspec={user} "{self.root}" "$@"'
        return ["unshare", "--mount", "sh", "-c", inside, "sh", *command]

    def run(self, *command, check=True):
        """As root, in it."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
        done = subprocess.run(
            self.chroot(*command),
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
        assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done

    def install(self, package):
        shutil.copy(package, self.root / "tmp/touchstone.deb")
        self.run("apt-get", "install", "--yes", "-qq", "--no-install-recommends", "/tmp/touchstone.deb")

    def unit(self):
        unit = configparser.RawConfigParser(strict=False)
        unit.optionxform = str
        unit.read(self.root / UNIT)
        return unit["Service"]

    def serve(self, **options):
        return Service(self, **options)

    def close(self):
        shutil.rmtree(self.root)


class Service(Listening):
    """The unit's ExecStart by the unit's user. By default it is in a network of its own; callers reach it by the Unix socket.

    `addresses`: how many the configuration names.
    """

    def __init__(self, debian, *, addresses=2, own_network=True):
        unit = debian.unit()
        user, group = unit["User"], unit["Group"]
        # What systemd does before the start.
        directory = debian.root / "run" / unit["RuntimeDirectory"]
        directory.mkdir(exist_ok=True)
        debian.run("chown", f"{user}:{group}", f"/run/{unit['RuntimeDirectory']}")
        command = debian.chroot(*shlex.split(unit["ExecStart"]), user=f"{user}:{group}")
        if own_network:
            command = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *command]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        super().__init__(command, addresses, environment=environment, umask=int(unit["UMask"], 8))
        self._socket = f"unix:{directory}/touchstone.sock"

    def caller(self, application_id="shop"):
        return Caller(self.channel(address=self._socket), application_id)
