"""The Java client: its own tests, and its jar as another program takes it, with Debian's packages."""

import re
import shutil
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import pytest
from conftest import PACKAGES, ROOT
from support import java
from support.java import run
from support.pages import blocks_of

SOURCES = ROOT / "clients/java"
README = SOURCES / "README.md"
#: Debian's packages, as a repository of Maven's.
DEBIAN = Path("/usr/share/maven-repo")

#: No other place is asked than Debian's packages and a folder with the jar.
SETTINGS = """<settings>
  <localRepository>{directory}/local</localRepository>
  <mirrors><mirror><id>debian</id><mirrorOf>*,!jar</mirrorOf><url>file://{debian}</url></mirror></mirrors>
</settings>
"""
PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>shop</groupId>
  <artifactId>shop</artifactId>
  <version>1</version>
  <repositories><repository><id>jar</id><url>file://{directory}/repository</url></repository></repositories>
  <dependencies>
    <dependency>
      <groupId>org.example.touchstone</groupId>
      <artifactId>touchstone-client</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""
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


def played(shop, path, command, folder):
    """The login of the README, compiled and run in a folder that was empty: the token, and the reasons of two refusals."""
    login = blocks_of(README, "java")[0]
    assert len(login.strip().splitlines()) <= 15
    (folder / "Login.java").write_text(PROGRAM % login)
    run("javac", "-classpath", path, "Login.java", cwd=folder)
    return shop.play([*command, "-classpath", f"{path}:.", "Login"], posture="text", cwd=folder)


def test_the_login_of_its_readme_runs_with_the_jar_in_an_empty_folder(shop, jar, command, tmp_path):
    token, refused, beyond = played(shop, f"{jar}:{java.libraries()}", command, tmp_path)
    assert shop.caller.introspect(token).active
    assert (refused, beyond) == ("APPLICATION_NOT_GRANTED", "BEYOND_LOG_END")


def test_maven_finds_it_and_what_it_needs_by_its_coordinates(shop, jar, command, tmp_path):
    version = (ROOT / "VERSION").read_text().strip()
    place = tmp_path / "repository/org/example/touchstone/touchstone-client" / version
    place.mkdir(parents=True)
    for file in (jar, jar.with_suffix(".pom")):
        shutil.copy(file, place)
    (tmp_path / "settings.xml").write_text(SETTINGS.format(directory=tmp_path, debian=DEBIAN))
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "pom.xml").write_text(PROJECT.format(directory=tmp_path, version=version))
    plugin = next((DEBIAN / "org/apache/maven/plugins/maven-dependency-plugin").glob("[0-9]*")).name
    goal = f"org.apache.maven.plugins:maven-dependency-plugin:{plugin}:build-classpath"
    run("mvn", "--batch-mode", "--settings", tmp_path / "settings.xml", goal, "-Dmdep.outputFile=path", cwd=folder)
    # Netty's TLS library is Debian's, as in the other tests.
    path = f"{(folder / 'path').read_text()}:/usr/share/java/netty-tcnative.jar"
    token, *_ = played(shop, path, command, folder)
    assert shop.caller.introspect(token).active


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


def test_a_second_build_makes_the_same_files_in_one_order_and_of_one_time(jar, tmp_path):
    run(SOURCES / "build", tmp_path, env={"SOURCE_DATE_EPOCH": "1790000000"}, umask=0o077)
    with zipfile.ZipFile(jar) as first, zipfile.ZipFile(tmp_path / jar.name) as second:
        entries = [[(entry.filename, entry.CRC, entry.external_attr) for entry in each.infolist()] for each in (first, second)]
        assert entries[0] == entries[1] and len(entries[0]) > 100
        assert len({entry.date_time for entry in second.infolist()}) == 1
    assert jar.with_suffix(".pom").read_bytes() == (tmp_path / jar.name).with_suffix(".pom").read_bytes()


def test_its_methods_are_those_of_the_protos():
    """`make protos` makes them; CI compares all of what it makes."""
    text = (SOURCES / "src/main/java/touchstone/TouchstoneMethods.java").read_text()
    rpcs = {
        name[0].lower() + name[1:]
        for file in (ROOT / "Protos/touchstone").rglob("*.proto")
        for name in re.findall(r"(?m)^  rpc (\w+)\(", file.read_text())
    }
    assert set(re.findall(r"(?m)^  public \S+ (\w+)\(\w+ request\) \{$", text)) == rpcs
