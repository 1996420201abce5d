"""The Java client: its own tests, and its jar as another program takes it, with Debian's packages."""

import os
import re
import shutil
import xml.etree.ElementTree as ElementTree

import pytest
from conftest import PACKAGES, ROOT, code_of
from support import java
from support.java import run

SOURCES = ROOT / "clients/java"
README = SOURCES / "README.md"
POM = "{http://maven.apache.org/POM/4.0.0}"

PROGRAM = """
import com.google.protobuf.ByteString;
import com.google.protobuf.TextFormat;
import io.grpc.TlsChannelCredentials;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.util.function.UnaryOperator;
import touchstone.AnswerStream;
import touchstone.TouchstoneClient;
import touchstone.TouchstoneException;
import touchstone.v1.*;

public final class Login {
%s

  static byte[] sign(byte[] signingInput) {
    try {
      System.out.println("sign " + new BigInteger(1, signingInput).setBit(8 * signingInput.length).toString(16).substring(1));
      String line = new BufferedReader(new InputStreamReader(System.in)).readLine();
      return new BigInteger(line.strip(), 16).toByteArray();
    } catch (java.io.IOException error) {
      throw new IllegalStateException(error);
    }
  }

  public static void main(String[] arguments) throws Exception {
    DevicePosture.Builder posture = DevicePosture.newBuilder();
    TextFormat.merge(arguments[3], posture);
    String key = System.getenv("TOUCHSTONE_KEY");
    try (TouchstoneClient client = TouchstoneClient.builder(arguments[0]).applicationId("shop").key(key)
        .credentials(TlsChannelCredentials.newBuilder().trustManager(new File(arguments[1])).build()).build()) {
      String token = login(client, arguments[2], posture.build(), Login::sign);
      String refused = "";
      try {
        client.getProfile(GetProfileRequest.newBuilder().setApplicationId("bank").setProfileId("anna").build());
      } catch (TouchstoneException.PermissionDenied error) {
        refused = error.getReason();
      }
      String beyond = "";
      try (AnswerStream<WatchEventsResponse> events =
          client.watchEvents(WatchEventsRequest.newBuilder().setAfterSequence(1L << 40).build())) {
        events.next();
      } catch (TouchstoneException.OutOfRange error) {
        beyond = error.getReason();
      }
      System.out.println("result " + token + " " + refused + " " + beyond);
    }
  }
}
"""


@pytest.fixture(scope="module")
def jar():
    jars = sorted(PACKAGES.glob("touchstone-client-*.jar"))
    if not jars or shutil.which("javac") is None:
        pytest.exit("the jar or Java is missing: run `make test-clients`", returncode=1)
    return jars[-1]


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    return java.program(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def tests(jar, tmp_path_factory):
    """The classpath of its own tests."""
    path = f"{jar}:{java.libraries()}:/usr/share/java/junit4.jar:/usr/share/java/hamcrest-core.jar"
    return java.compiled(tmp_path_factory.mktemp("tests"), path, *SOURCES.glob("src/test/java/touchstone/*.java"))


def test_its_own_tests_pass(command, tests):
    assert "OK (" in run(*command, "-classpath", tests, "org.junit.runner.JUnitCore", "touchstone.ClientTest")


def test_it_calls_the_service(command, tests, shop):
    settings = [f"-Dtarget={shop.target}", f"-Dauthority={shop.authority.file}", f"-Dkey={shop.key.text}"]
    assert "OK (" in run(*command, *settings, "-classpath", tests, "org.junit.runner.JUnitCore", "touchstone.ServiceTest")


def test_the_login_of_its_readme_runs_with_the_jar_in_an_empty_folder(shop, jar, command, tmp_path):
    login = code_of(README, "java")
    assert len(login.strip().splitlines()) <= 15
    (tmp_path / "Login.java").write_text(PROGRAM % login)
    path = f"{jar}:{java.libraries()}"
    run("javac", "-classpath", path, "Login.java", cwd=tmp_path)
    token, refused, beyond = shop.play([*command, "-classpath", f"{path}:.", "Login"], posture="text", cwd=tmp_path)
    assert shop.caller.introspect(token).active
    assert (refused, beyond) == ("APPLICATION_NOT_GRANTED", "BEYOND_LOG_END")


def test_the_jar_is_for_java_11_and_has_nothing_of_others(jar):
    names = run("jar", "--list", "--file", jar).split()
    assert {name.split("/")[0] for name in names} == {"META-INF", "touchstone"}
    assert "META-INF/LICENSE" in names
    shown = run("javap", "-verbose", "-classpath", jar, "touchstone.TouchstoneClient")
    assert "major version: 55" in shown


def test_its_pom_names_what_it_needs(jar):
    pom = ElementTree.parse(jar.with_suffix(".pom")).getroot()
    version = (ROOT / "VERSION").read_text().strip()
    assert (pom.findtext(f"{POM}artifactId"), pom.findtext(f"{POM}version")) == ("touchstone-client", version)
    tested = {}
    for dependency in pom.iter(f"{POM}dependency"):
        tested[dependency.findtext(f"{POM}artifactId")] = dependency.findtext(f"{POM}version")
    assert tested.keys() == {"grpc-protobuf", "grpc-stub", "grpc-netty", "protobuf-java"}
    for name, package in [("grpc-stub", "libgrpc-java"), ("protobuf-java", "libprotobuf-java")]:
        installed = run("dpkg-query", "--show", "--showformat", "${Version}", package)
        assert re.match(r"[0-9.]+", installed)[0] == tested[name]


def test_a_second_build_makes_the_same_bytes(jar, tmp_path):
    for number in range(2):
        run(SOURCES / "build", tmp_path / str(number), env={**os.environ, "SOURCE_DATE_EPOCH": "1790000000"})
    first, second = ([file.read_bytes() for file in sorted((tmp_path / name).iterdir())] for name in "01")
    assert first == second and len(first) == 2


def test_its_methods_are_those_of_the_protos():
    """`make protos` makes them; CI compares all of what it makes."""
    text = (SOURCES / "src/main/java/touchstone/TouchstoneMethods.java").read_text()
    rpcs = {
        name[0].lower() + name[1:]
        for file in (ROOT / "Protos/touchstone").rglob("*.proto")
        for name in re.findall(r"(?m)^  rpc (\w+)\(", file.read_text())
    }
    assert set(re.findall(r"(?m)^  public \S+ (\w+)\(\w+ request\) \{$", text)) == rpcs
