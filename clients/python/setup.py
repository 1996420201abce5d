"""Builds the wheel in the repository: it generates the stubs from Protos, and takes the version of the service."""

import os
import shutil
from importlib import resources
from pathlib import Path

from grpc_tools import protoc
from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
#: Outside of the sources; git ignores it.
OUTPUT = ROOT / ".build-clients/python"


def generate(target):
    well_known = resources.files("grpc_tools") / "_proto"
    protos = sorted((ROOT / "Protos/touchstone").rglob("*.proto"))
    outputs = [f"--{kind}_out={target}" for kind in ("python", "pyi", "grpc_python")]
    if protoc.main(["protoc", f"-I{ROOT / 'Protos'}", f"-I{well_known}", *outputs, *map(str, protos)]) != 0:
        raise SystemExit("protoc does not take the protos")


class BuildWithStubs(build_py):
    def run(self):
        super().run()
        if not self.editable_mode:
            generate(self.build_lib)


# Files are read from HERE, whatever the working directory is.
os.chdir(HERE)
# Files of an earlier build, which may have been elsewhere, stay out of the wheel.
shutil.rmtree(OUTPUT, ignore_errors=True)
OUTPUT.mkdir(parents=True)
setup(
    version=(ROOT / "VERSION").read_text().strip(),
    cmdclass={"build_py": BuildWithStubs},
    options={"build": {"build_base": str(OUTPUT / "build")}, "egg_info": {"egg_base": str(OUTPUT)}},
)
