"""The iOS kit as its users get it: by SwiftPM, from repositories of the released tree and of Touchstone, in an empty folder.

The program is the README's backend and calls, on the simulated phone. A backend of a few lines passes its JSON on to the service.
"""

import json
import os
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import grpc
import pytest
from google.protobuf import json_format
from support.caller import primary_login
from support.server import Server
from support.stubs import bindings_pb2, bindings_pb2_grpc, evaluation_pb2, evaluation_pb2_grpc

ROOT = Path(__file__).resolve().parents[2]
VERSION = (ROOT / "VERSION").read_text().strip()
#: The kit's own build is short; on Linux it compiles the phone and its cryptography, too.
BUILD_SECONDS = 1_800
RUN_SECONDS = 120

MANIFEST = """// swift-tools-version: 5.9
import PackageDescription

let package = Package(
  name: "Shop",
  dependencies: [
    .package(url: "file://{kit}", exact: "{version}"),
    .package(url: "file://{touchstone}", exact: "{version}"),
  ],
  targets: [
    .executableTarget(
      name: "Shop",
      dependencies: [
        .product(name: "TouchstoneKit", package: "touchstone-kit-ios"),
        .product(name: "LocalAuthentication", package: "touchstone"),
      ])
  ])
"""

STORY = """
import FoundationNetworking
import LocalAuthentication
import SimulatedPhone

@main
struct Shop {
  static func main() async throws {
    let phone = SimulatedPhone(
      passcode: "2580", enrolled: ["thumb"], person: .presenting(.finger("thumb"), passcode: "2580"))
    var settings = TouchIDSettings()
    settings.device = Device(platform: "ios", osVersion: "17.4", model: "iPhone15,2")
    settings.installationFile = URL(fileURLWithPath: CommandLine.arguments[1])
    func tell(_ what: String, _ result: TouchIDResult) {
      print(what, result.means.rawValue, result.next.kind.name, result.next.factor?.name ?? "-", result.profile ?? "-")
      if !result.next.notices.isEmpty { print(result.next.notices) }
    }
    try await LASimulation(phone: phone).run {
      let touchID = TouchID(backend: ShopBackend(), settings: settings)
      tell("enable", try await touchID.enable())
      tell("login", try await touchID.login())
      let coffee = Payment(amount: "3.20", currency: "EUR", payee: "Coffee Bar", reference: "order-1815")
      tell("pay", try await touchID.pay(coffee))
      phone.enroll("index")
      tell("by passcode after a new finger", try await touchID.login())
      print(try await touchID.status().state.rawValue)
      tell("the finger's key is dead", try await touchID.login())
      tell("the passcode", try await touchID.prove(by: .deviceOwner))
      tell("enable", try await touchID.enable())
      tell("login", try await touchID.login())
      try await touchID.disable()
      print(try await touchID.status().state.rawValue)
    }
  }
}
"""


def run(*command, cwd, seconds=RUN_SECONDS, environment=None):
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **(environment or {})}, capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-4_000:]
    return done.stdout


def committed(tree):
    """Makes a repository of a tree, with the version's tag."""
    identity = ["-c", "user.name=a release", "-c", "user.email=release@example.org"]
    run("git", "init", "--quiet", cwd=tree)
    run("git", "add", "--all", cwd=tree)
    run("git", *identity, "commit", "--quiet", "--message", "Release", cwd=tree)
    run("git", "tag", VERSION, cwd=tree)
    return tree


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    touchstone, kit, shop = folder / "touchstone", folder / "touchstone-kit-ios", folder / "shop"
    for name in run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0"):
        if name and (ROOT / name).exists():
            (touchstone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, touchstone / name, follow_symlinks=False)
    run("deploy/release/kit-ios", str(kit), f"file://{touchstone}", cwd=ROOT)
    committed(touchstone)
    committed(kit)

    (shop / "Sources/Shop").mkdir(parents=True)
    (shop / "Package.swift").write_text(MANIFEST.format(kit=kit, touchstone=touchstone, version=VERSION))
    backend = (kit / "README.md").read_text(encoding="utf-8").split("import Foundation\n", 1)[1].split("let touchID =", 1)[0]
    address = '"https://shop.example.org/touch-id/\\(method)"'
    assert address in backend
    backend = backend.replace(address, 'CommandLine.arguments[2] + "/" + method')
    (shop / "Sources/Shop/Shop.swift").write_text("import Foundation\n" + backend + STORY)
    run("swift", "build", cwd=shop, seconds=BUILD_SECONDS)
    return shop / ".build/debug/Shop"


@pytest.fixture
def backend(tmp_path):
    """What the README's table says that a backend adds, and the service behind it."""
    server = Server(tmp_path / "data")
    channel = server.channel()
    bindings, evaluations = bindings_pb2_grpc.BindingServiceStub(channel), evaluation_pb2_grpc.EvaluationServiceStub(channel)
    adding = {
        "BeginBinding": (bindings, bindings_pb2.BeginBindingRequest, {"profile_id": "alice", "primary": primary_login()}),
        "CompleteBinding": (bindings, bindings_pb2.CompleteBindingRequest, {}),
        "RevokeBinding": (bindings, bindings_pb2.RevokeBindingRequest, {"reason": "disabled by its owner"}),
        "BeginEvaluation": (evaluations, evaluation_pb2.BeginEvaluationRequest, {}),
        "SubmitAttempt": (evaluations, evaluation_pb2.SubmitAttemptRequest, {}),
        "InvalidateEvaluation": (evaluations, evaluation_pb2.InvalidateEvaluationRequest, {}),
    }

    class Backend(BaseHTTPRequestHandler):
        def do_POST(self):
            stub, request, more = adding[self.path.lstrip("/")]
            body = self.rfile.read(int(self.headers["Content-Length"]))
            message = json_format.Parse(body, request(application_id="shop", **more))
            try:
                status, answer = 200, json_format.MessageToDict(getattr(stub, self.path.lstrip("/"))(message))
            except grpc.RpcError as error:
                status, answer = 400, {"code": error.code().name.lower(), "message": error.details()}
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Backend)
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}"
    http.shutdown()
    thread.join()
    http.server_close()
    server.close()


def test_an_app_enables_logs_in_pays_changes_a_finger_and_recovers(program, backend, tmp_path):
    told = run(str(program), str(tmp_path / "installation"), backend, cwd=tmp_path, environment={"no_proxy": "127.0.0.1"})
    assert told.splitlines() == [
        "enable success done - -",
        "login success done - alice",
        "pay success done - alice",
        "by passcode after a new finger success done - alice",
        '["bind-again"]',
        "bind-again",
        "the finger's key is dead key-gone bind-again FACTOR_DEVICE_OWNER -",
        "the passcode success done - alice",
        '["bind-again"]',
        "enable success done - -",
        "login success done - alice",
        "not-enabled",
    ]


def test_the_released_manifest_names_no_path(tmp_path):
    run("deploy/release/kit-ios", str(tmp_path / "kit"), cwd=ROOT)
    manifest = (tmp_path / "kit/Package.swift").read_text()
    assert f'exact: "{VERSION}"' in manifest and "path:" not in manifest
    readme = (tmp_path / "kit/README.md").read_text()
    assert f'exact: "{VERSION}")' in readme and "](../" not in readme and "TouchstoneKitTests" not in readme
