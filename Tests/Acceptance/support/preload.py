"""C libraries that a test loads into the service's process (LD_PRELOAD, ld.so(8))."""

import os
import shutil
import subprocess


def build(source, directory):
    """Compiles the C file with the C compiler of this machine, and returns the library's path in that directory."""
    library = directory / f"{source.stem}.so"
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("clang")
    assert compiler, "no C compiler: cc or clang"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl", "-lpthread"], check=True)
    return library
