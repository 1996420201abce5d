"""The Go client, in GOPATH mode with Debian's packages."""

import os
import shutil
import subprocess

import pytest
from conftest import PACKAGES, PROGRAM_SECONDS, ROOT, code_of

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


@pytest.fixture(scope="module")
def go(tmp_path_factory):
    """Runs `go` on the client, in a directory of its package."""
    if shutil.which("go") is None or not FETCHED.exists():
        pytest.exit("Go or its packages are missing: run `make test-clients`", returncode=1)
    path = tmp_path_factory.mktemp("go")
    package = path / "src" / MODULE
    shutil.copytree(SOURCES, package)
    environment = {
        **os.environ,
        "GO111MODULE": "off",
        # Without it, Go's own packages need a C compiler.
        "CGO_ENABLED": "0",
        "GOFLAGS": "",
        "GOPATH": f"{path}:{FETCHED}",
        # Kept, because what is compiled there seldom changes.
        "GOCACHE": str(PACKAGES / "go-cache"),
    }

    def run(*arguments, directory=package):
        done = subprocess.run(
            ["go", *arguments], cwd=directory, env=environment, capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run.package = package
    return run


def test_its_own_tests_pass(go):
    assert go("vet", "./...") == ""
    assert "ok" in go("test", "./...")


def test_it_is_formatted():
    listed = subprocess.run(["gofmt", "-l", SOURCES], capture_output=True, text=True, timeout=60, check=True)
    assert listed.stdout == ""


def test_the_login_of_its_readme_runs(shop, go, tmp_path):
    login = code_of(SOURCES / "README.md", "go")
    assert len(login.strip().splitlines()) <= 15
    program = go.package / "login"
    program.mkdir()
    (program / "main.go").write_text(PROGRAM % login)
    go("build", "-o", str(tmp_path / "login"), ".", directory=program)
    token, refused, beyond = shop.play([tmp_path / "login"])
    assert shop.caller.introspect(token).active
    assert (refused, beyond) == ("APPLICATION_NOT_GRANTED", "BEYOND_LOG_END")
