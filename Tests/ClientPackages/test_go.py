"""The Go client with Debian's packages: in GOPATH mode, and as a module that a proxy's modules complete."""

import os
import shutil
import subprocess

import pytest
from conftest import PACKAGES, PROGRAM_SECONDS, ROOT
from support.pages import blocks_of
from go_modules import ModuleProxy

MODULE = "touchstone.example.org/touchstone"
SOURCES = ROOT / "clients/go"
#: Debian's packages, which clients/go/fetch-packages fetched.
FETCHED = PACKAGES / "go/usr/share/gocode"

PROGRAM = """
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"touchstone.example.org/touchstone"
	pb "touchstone.example.org/touchstone/touchstonev1"
)

%s

func sign(signingInput []byte) []byte {
	fmt.Println("sign", hex.EncodeToString(signingInput))
	line, _ := bufio.NewReader(os.Stdin).ReadString('\\n')
	signature, _ := hex.DecodeString(strings.TrimSpace(line))
	return signature
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	authority, err := os.ReadFile(os.Args[2])
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	posture := &pb.DevicePosture{}
	check(protojson.Unmarshal([]byte(os.Args[4]), posture))
	client, err := touchstone.Dial(
		os.Args[1], touchstone.WithKey(os.Getenv("TOUCHSTONE_KEY")), touchstone.WithTLS(&tls.Config{RootCAs: roots}))
	check(err)
	defer client.Close()
	token, err := login(context.Background(), client, os.Args[3], posture, sign)
	check(err)
	_, err = client.GetProfile(context.Background(), &pb.GetProfileRequest{ApplicationId: "bank", ProfileId: "anna"})
	var refused *touchstone.Error
	errors.As(err, &refused)
	events, err := client.WatchEvents(context.Background(), &pb.WatchEventsRequest{
		Filter: &pb.EventFilter{ApplicationId: "shop"}, AfterSequence: 1 << 40})
	if err == nil {
		_, err = events.Recv()
	}
	var beyond *touchstone.Error
	errors.As(err, &beyond)
	fmt.Println("result", token, refused.Reason, beyond.Reason)
}
"""


class Go:
    """Runs `go`, by default in one directory."""

    def __init__(self, directory, **environment):
        if shutil.which("go") is None or not FETCHED.exists():
            pytest.exit("Go or its packages are missing: run `make test-clients`", returncode=1)
        self.directory = directory
        self._environment = {
            **os.environ,
            # Without it, Go's own packages need a C compiler.
            "CGO_ENABLED": "0",
            "GOFLAGS": "",
            # Kept, because what is compiled there seldom changes.
            "GOCACHE": str(PACKAGES / "go-cache"),
            **environment,
        }

    def __call__(self, *arguments, directory=None):
        done = subprocess.run(
            ["go", *arguments],
            cwd=directory or self.directory,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PROGRAM_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def go(tmp_path_factory):
    """On the client's package, in GOPATH mode."""
    path = tmp_path_factory.mktemp("go")
    package = path / "src" / MODULE
    shutil.copytree(SOURCES, package)
    return Go(package, GO111MODULE="off", GOPATH=f"{path}:{FETCHED}")


@pytest.fixture
def go_of_a_user(tmp_path):
    """On a module of a user's own, in module mode. No other place than the proxy is queried."""
    proxy = ModuleProxy(FETCHED)
    directory = tmp_path / "shop"
    directory.mkdir()
    modules = {"GO111MODULE": "on", "GOPROXY": proxy.url, "GOSUMDB": "off", "GOPATH": str(tmp_path / "gopath")}
    yield Go(directory, **modules)
    proxy.close()
    # Go makes the files of its cache read-only.
    Go(directory, **modules)("clean", "-modcache")


def test_its_own_tests_pass(go):
    assert go("vet", "./...") == ""
    assert "ok" in go("test", "./...")


def test_it_is_formatted():
    listed = subprocess.run(["gofmt", "-l", SOURCES], capture_output=True, text=True, timeout=60, check=True)
    assert listed.stdout == ""


def test_the_login_of_its_readme_runs(shop, go, tmp_path):
    login = blocks_of(SOURCES / "README.md", "go")[0]
    assert len(login.strip().splitlines()) <= 15
    program = go.directory / "login"
    program.mkdir()
    (program / "main.go").write_text(PROGRAM % login)
    go("build", "-o", str(tmp_path / "login"), ".", directory=program)
    token, refused, beyond = shop.play([tmp_path / "login"])
    assert shop.caller.introspect(token).active
    assert (refused, beyond) == ("APPLICATION_NOT_GRANTED", "BEYOND_LOG_END")


def test_a_users_module_takes_the_archive_as_its_readme_says(shop, go_of_a_user):
    go = go_of_a_user
    (archive,) = PACKAGES.glob("touchstone-client-go-*.tar.gz")
    subprocess.run(["tar", "--extract", "--file", archive], cwd=go.directory, check=True, timeout=60)
    (go.directory / "main.go").write_text(PROGRAM % blocks_of(SOURCES / "README.md", "go")[0])
    go("mod", "init", "shop.example.org/login")
    go("mod", "edit", f"-require={MODULE}@v0.0.0", f"-replace={MODULE}=./{archive.name.removesuffix('.tar.gz')}")
    # Goes on without go-cmp, which only the tests of imported packages need, and which is not fetched.
    go("mod", "tidy", "-e")
    go("build", "-o", "login", ".")
    token, *_ = shop.play([go.directory / "login"])
    assert shop.caller.introspect(token).active
