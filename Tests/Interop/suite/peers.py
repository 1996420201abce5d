"""How each implementation's client and server are run: DispatchRPC's own, and grpc's in Python, Go and C++."""

from dataclasses import dataclass, field
from pathlib import Path

from .foreign import Foreign

#: Whom the test certificate is for.
SERVER_NAME = "foo.test.google.fr"


@dataclass(frozen=True)
class Command:
    arguments: list
    environment: dict = field(default_factory=dict)
    directory: Path = None


@dataclass(frozen=True)
class Ours:
    foreign: Foreign
    #: Where Swift's package manager puts programs.
    binaries: Path
    name: str = "ours"

    def server(self, port, tls):
        arguments = [f"--port={port}"]
        if tls:
            credentials = self.foreign.credentials
            arguments += ["--use_tls=true", f"--tls_cert_file={credentials / 'server1.pem'}",
                          f"--tls_key_file={credentials / 'server1.key'}"]
        return Command([str(self.binaries / "interop-server"), *arguments])

    def client(self, port, tls, case):
        arguments = client_arguments(port, tls, case)
        if tls:
            arguments.append(f"--ca_file={self.foreign.credentials / 'ca.pem'}")
        return Command([str(self.binaries / "interop-client"), *arguments])


@dataclass(frozen=True)
class Python:
    foreign: Foreign
    name: str = "python"

    def server(self, port, tls):
        return self.run("tests.interop.server", [f"--port={port}", f"--use_tls={flag(tls)}"])

    def client(self, port, tls, case):
        return self.run("tests.interop.client", client_arguments(port, tls, case))

    def run(self, module, arguments):
        modules = self.foreign.python_modules
        return Command([str(self.foreign.python), "-m", module, *arguments], {"PYTHONPATH": str(modules)}, modules)


@dataclass(frozen=True)
class Go:
    foreign: Foreign
    name: str = "go"

    def server(self, port, tls):
        credentials = self.foreign.credentials
        return Command([
            str(self.foreign.go / "server"), f"-port={port}", f"-use_tls={flag(tls)}",
            f"-tls_cert_file={credentials / 'server1.pem'}", f"-tls_key_file={credentials / 'server1.key'}"])

    def client(self, port, tls, case):
        authorities = f"-ca_file={self.foreign.credentials / 'ca.pem'}"
        return Command([str(self.foreign.go / "client"), authorities, *client_arguments(port, tls, case)])


@dataclass(frozen=True)
class Cpp:
    """Has the test certificates compiled in."""

    foreign: Foreign
    name: str = "cpp"

    def server(self, port, tls):
        return Command([str(self.foreign.cpp / "server"), f"--port={port}", f"--use_tls={flag(tls)}"])

    def client(self, port, tls, case):
        arguments = client_arguments(port, tls, case)
        if tls and case == "pick_first_unary":
            # It makes this case's channel by another way, which knows nothing of --use_tls.
            arguments.append("--custom_credentials_type=ssl")
        return Command([str(self.foreign.cpp / "client"), *arguments])


FOREIGN = {peer.name: peer for peer in (Python, Go, Cpp)}


def client_arguments(port, tls, case):
    arguments = ["--server_host=127.0.0.1", f"--server_port={port}", f"--test_case={case}"]
    if tls:
        arguments += ["--use_tls=true", "--use_test_ca=true", f"--server_host_override={SERVER_NAME}"]
    return arguments


def flag(value):
    return "true" if value else "false"
