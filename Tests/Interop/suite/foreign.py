"""Builds grpc's own interoperability programs from the distribution's source packages."""

import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from . import fetch

REQUIREMENTS = Path(__file__).parents[1] / "requirements.txt"
PROTOS = ["empty", "messages", "test"]
#: The distribution's Go packages, where its compiler finds them.
GO_PACKAGES = Path("/usr/share/gocode")

CPP_COMMON = [
    "test/cpp/util/create_test_channel.cc", "test/cpp/util/test_credentials_provider.cc",
    "test/cpp/util/test_config_cc.cc", "test/core/util/test_config.cc", "test/core/util/histogram.cc",
    "test/core/util/build.cc", "test/core/util/stack_tracer.cc", "test/core/security/oauth2_utils.cc",
    "test/core/event_engine/test_init.cc",
]
#: With the certificates that its credentials have compiled in.
CPP_COMMON_PATTERNS = ["test/core/end2end/data/*cert*.cc", "test/core/end2end/data/*key*.cc"]
CPP_PROGRAMS = {
    "client": ["client", "client_helper", "interop_client"],
    "server": ["interop_server", "interop_server_bootstrap", "server_helper"],
}
CPP_LIBRARIES = ["-lgrpc++", "-lgrpc", "-lgpr", "-laddress_sorting", "-lprotobuf"]

#: test/http2_test is Python 2's and h2 3's: what it takes to run on Python 3 and h2 4.
HTTP2_TEST_FIXES = [
    (r"(\b[\w.]+)\.has_key\(([^()]+)\)", r"(\2 in \1)"),
    (r"h2\.connection\.H2Connection\(client_side=False\)",
     "h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding='utf-8'))"),
    (r"(?m)^import h2\.connection$", "import h2.config\nimport h2.connection"),
    (r"h2\.events\.PingAcknowledged", "h2.events.PingAckReceived"),
    (r"(_recv_buffer\[event\.stream_id\] = )''", r"\1b''"),
    (r"response_len / 2", "response_len // 2"),
]


@dataclass(frozen=True)
class Foreign:
    """What is built lies in the cache, and is built once."""

    cache: Path

    @cached_property
    def grpc(self):
        return fetch.source_package("grpc", self.cache)

    @cached_property
    def credentials(self):
        """The certificates and keys of all interoperability tests; ours wants the key readable by its owner alone."""
        target = self.cache / "credentials"
        target.mkdir(exist_ok=True)
        for name in ("ca.pem", "server1.pem", "server1.key"):
            shutil.copy(self.grpc / "src/core/tsi/test_creds" / name, target / name)
            (target / name).chmod(0o600)
        return target

    # Python

    @cached_property
    def python(self):
        return fetch.python_environment(REQUIREMENTS, self.cache)

    @cached_property
    def python_modules(self):
        """The directory from which `tests.interop.client` and `tests.interop.server` run."""
        with unfinished(self.cache / "python") as directory:
            if directory:
                self.generate_python(directory, self.grpc, [f"src/proto/grpc/testing/{name}.proto" for name in PROTOS])
                tests = self.grpc / "src/python/grpcio_tests/tests"
                shutil.copytree(tests / "interop", directory / "tests/interop")
                (directory / "tests/unit").mkdir()
                shutil.copy(tests / "unit/test_common.py", directory / "tests/unit")
                for package in ("tests", "tests/unit"):
                    (directory / package / "__init__.py").touch()
        return self.cache / "python"

    def generate_python(self, target, root, protos):
        fetch.call([str(self.python), "-m", "grpc_tools.protoc", f"--proto_path={root}", f"--python_out={target}",
                    f"--grpc_python_out={target}", *protos])

    @cached_property
    def http2_test(self):
        """The directory of http2_test_server.py."""
        with unfinished(self.cache / "http2_test") as directory:
            if directory:
                for path in (self.grpc / "test/http2_test").glob("*.py"):
                    (directory / path.name).write_text(fixed(path, HTTP2_TEST_FIXES))
                self.generate_python(directory, self.grpc / "src/proto/grpc/testing", ["messages.proto"])
        return self.cache / "http2_test"

    # Go

    @cached_property
    def go(self):
        """The directory of `client`, `server` and `http2interop`."""
        with unfinished(self.cache / "go") as directory:
            if directory:
                build_go(directory, fetch.source_package("golang-google-grpc", self.cache), self.grpc)
        return self.cache / "go/bin"

    # C++

    @cached_property
    def cpp(self):
        """The directory of `client` and `server`."""
        with unfinished(self.cache / "cpp") as directory:
            if directory:
                build_cpp(directory, self.grpc)
        return self.cache / "cpp/bin"


def fixed(path, fixes):
    """A file's text after each replacement of a pattern."""
    text = path.read_text()
    for pattern, replacement in fixes:
        text = re.sub(pattern, replacement, text)
    return text


@contextmanager
def unfinished(target):
    """Makes a directory that is there only once it is complete; yields `None` where it is there already."""
    if target.exists():
        yield None
        return
    print(f"Building {target.name}", flush=True)
    directory = target.with_name(f"{target.name}.unfinished")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    yield directory
    directory.rename(target)


def build_go(directory, source, grpc):
    """The distribution's packages lack interop/, and its source package lacks what the packaging generates."""
    package = directory / "src/google.golang.org/grpc"
    shutil.copytree(source, package)
    shutil.copytree(GO_PACKAGES / "src/google.golang.org/grpc", package, dirs_exist_ok=True)
    generate_go(directory, package / "interop/grpc_testing")
    shutil.copytree(
        grpc / "tools/http2_interop", directory / "src/http2_interop", ignore=shutil.ignore_patterns("go.mod"))
    (directory / "bin").mkdir()
    environment = {
        **os.environ, "GO111MODULE": "off", "GOPATH": f"{directory}:{GO_PACKAGES}", "GOFLAGS": "",
        "GOCACHE": str(directory / "go-cache"),
    }
    for program in ("client", "server"):
        fetch.call(["go", "build", "-o", f"{directory}/bin/{program}", f"./interop/{program}"], package, environment)
    fetch.call(["go", "test", "-c", "-o", f"{directory}/bin/http2interop", "."], directory / "src/http2_interop",
               environment)
    shutil.rmtree(directory / "go-cache")


def generate_go(directory, package):
    """The stubs that the source package came with are newer than the packages they need."""
    for path in package.glob("*.pb.go"):
        path.unlink()
    fetch.call(["protoc", f"--go_out=plugins=grpc:{directory}/src", "test.proto"], package)


def build_cpp(directory, grpc):
    plugin = shutil.which("grpc_cpp_plugin")
    protos = [f"src/proto/grpc/testing/{name}.proto" for name in PROTOS]
    fetch.call(["protoc", "--proto_path=.", f"--cpp_out={directory}", f"--grpc_out={directory}",
                f"--plugin=protoc-gen-grpc={plugin}", *protos], grpc)
    common = [*CPP_COMMON, *(path for pattern in CPP_COMMON_PATTERNS for path in relative(grpc, pattern))]
    own = {program: [f"test/cpp/interop/{name}.cc" for name in names] for program, names in CPP_PROGRAMS.items()}
    sources = [grpc / name for name in [*common, *own["client"], *own["server"]]]
    sources += sorted((directory / "src").rglob("*.cc"))
    with ThreadPoolExecutor(os.cpu_count()) as compilers:
        compiled = compilers.map(lambda source: compile_cpp(directory, grpc, source), sources)
        objects = dict(zip(map(str, sources), compiled))
    (directory / "bin").mkdir()
    for program, names in own.items():
        others = {str(grpc / name) for each, names in own.items() if each != program for name in names}
        link_cpp(directory / "bin" / program, [each for source, each in objects.items() if source not in others])


def relative(root, pattern):
    return [str(path.relative_to(root)) for path in sorted(root.glob(pattern))]


def compile_cpp(directory, grpc, source):
    target = directory / f"{str(source).strip('/').replace('/', '_')}.o"
    fetch.call(["g++", "-std=c++17", f"-I{directory}", f"-I{grpc}", f"-I{grpc}/third_party/upb", "-c", str(source),
                "-o", str(target)], grpc)
    return target


def link_cpp(program, objects):
    packages = [line.split()[0] for line in fetch.call(["pkg-config", "--list-all"]).splitlines() if line]
    names = [name for name in packages if name.startswith("absl_")]
    flags = fetch.call(["pkg-config", "--libs", *names]).split()
    fetch.call(["g++", "-o", str(program), *map(str, objects), *CPP_LIBRARIES, *flags])
