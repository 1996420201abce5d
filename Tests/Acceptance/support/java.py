"""Java programs, with Debian's packages in the versions that the Java client is tested with."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

#: A program may wait for a service that starts at the same time.
SECONDS = 300

#: Programs of seconds need no other collector, and no threads for it.
_COLLECTOR = "-XX:+UseSerialGC"


def run(*command, **options):
    """What it prints."""
    environment = {**os.environ, "JAVA_TOOL_OPTIONS": _COLLECTOR, **options.pop("env", {})}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def libraries():
    """The classpath of gRPC and what it needs."""
    return run(ROOT / "clients/java/classpath").strip()


def compiled(directory, path, *sources):
    """Compiles without a warning. The classpath with what was compiled."""
    directory.mkdir(exist_ok=True)
    warnings = ("-Xlint:all,-processing", "-Werror")
    run("javac", "--release", "11", *warnings, "-classpath", path, "-d", directory, *sources)
    return f"{directory}:{path}"


def program(directory):
    """The beginning of a command. Netty looks for its TLS library by a name and in a place that Debian's package does not have."""
    (library,) = Path("/usr/lib").glob("*/jni/libnetty-tcnative.so")
    directory.mkdir(exist_ok=True)
    shutil.copy(library, directory / "libnetty_tcnative.so")
    return ["java", _COLLECTOR, f"-Djava.library.path={directory}"]
