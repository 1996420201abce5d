"""The Node client: its own tests, its types, its codec beside Python's, and as a program takes its archive."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from conftest import PACKAGES, ROOT
from support.certificates import Authority
from support.pages import blocks_of
from support.server import Server

SOURCES = ROOT / "clients/node"
#: Random messages of every type, for the Swift codec, too.
CROSSCHECK = ROOT / "Tests/Core/TouchstoneCodecTests/crosscheck"
SECONDS = 300

PROGRAM = """
%(login)s

const readline = require("node:readline");
const { readFileSync } = require("node:fs");
const touchstone = require("touchstone-client");

const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function sign(signingInput) {
  console.log("sign", signingInput.toString("hex"));
  return Buffer.from((await lines.next()).value, "hex");
}

async function main() {
  const [target, authority, bindingId, text] = process.argv.slice(2);
  const posture = JSON.parse(text);
  posture.domainState = Buffer.from(posture.domainState, "base64");
  const tls = { ca: readFileSync(authority) };
  const client = new Client(target, { applicationId: "shop", key: process.env.TOUCHSTONE_KEY, tls });
  const [profile, token] = await login(client, bindingId, posture, sign);
  const refused = await client.getProfile({ applicationId: "bank", profileId: "anna" }).catch((error) => error);
  if (!(refused instanceof touchstone.PermissionDenied)) throw refused;
  const wrong = await client.beginEvaluation({ policy: "login", bindingId, posture: { platform: "ios" } }).catch((error) => error);
  const bare = new Client(target, { key: "tsk_wrong", tls });
  const unknown = await bare.getSigningKeys().catch((error) => error);
  const sequences = [];
  for await (const { event } of client.watchEvents({ afterSequence: 0n })) {
    sequences.push(event.sequence);
    if (event.kind === "evaluation.succeeded") break;
  }
  const beyond = await (async () => {
    for await (const _ of client.watchEvents({ afterSequence: 1n << 40n }));
  })().catch((error) => error);
  const fields = Object.keys(wrong.fields).sort().join(",");
  console.log("result", profile, token, refused.reason, fields, unknown.name, beyond.reason, sequences.length > 1);
  process.stdin.destroy();
}

main();
"""


def node(*arguments, directory, **options):
    done = subprocess.run(
        ["node", *map(str, arguments)], cwd=directory, capture_output=True, text=True, timeout=SECONDS, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def package(tmp_path):
    """An empty folder of a user's, with the archive unpacked as npm does it."""
    modules = tmp_path / "shop/node_modules"
    modules.mkdir(parents=True)
    (archive,) = PACKAGES.glob("touchstone-client-node-*.tgz")
    subprocess.run(["tar", "--extract", "--file", archive, "--directory", modules], check=True, timeout=60)
    (modules / "package").rename(modules / "touchstone-client")
    return tmp_path / "shop"


def test_its_own_tests_pass():
    assert "# fail 0" in node("--test", "--test-reporter=tap", directory=SOURCES)


def test_the_login_of_its_readme_runs_from_the_unpacked_archive(shop, package):
    login = blocks_of(SOURCES / "README.md", "js")[0]
    assert len(login.strip().splitlines()) <= 15
    (package / "login.js").write_text(PROGRAM % {"login": login})
    profile, token, refused, fields, unknown, beyond, has_more = shop.play(["node", "login.js"], cwd=package)
    assert profile == shop.phone.binding.profile_id
    assert shop.caller.introspect(token).active
    assert (refused, beyond, unknown) == ("APPLICATION_NOT_GRANTED", "BEYOND_LOG_END", "Unauthenticated")
    assert (fields, has_more) == ("localized_reason,posture.os_version", "true")


def test_the_archive_has_its_version_and_takes_import_too(package):
    version = (ROOT / "VERSION").read_text().strip()
    described = json.loads((package / "node_modules/touchstone-client/package.json").read_text())
    assert (described["version"], described.get("dependencies")) == (version, None)
    files = {path.name for path in (package / "node_modules/touchstone-client").iterdir()}
    assert files == {"LICENSE", "README.md", "generated", "index.d.ts", "index.js", "lib", "package.json"}
    (package / "names.mjs").write_text(
        'import { Client, NotFound } from "touchstone-client";\nconsole.log(typeof Client, NotFound.name);'
    )
    assert node("names.mjs", directory=package).split() == ["function", "NotFound"]


TLS_PROGRAM = """
const { readFileSync } = require("node:fs");
const { Client } = require("touchstone-client");

async function main() {
  const [target, ca, other, cert, key, authority] = process.argv.slice(2);
  const read = (file) => readFileSync(file);
  const code = async (tls, options) => {
    const client = new Client(target, { tls, timeout: 5_000, ...options });
    const code = await client.getSigningKeys().then(() => "OK", (error) => error.reason || error.code);
    client.close();
    return code;
  };
  console.log(
    await code({ ca: read(ca), cert: read(cert), key: read(key) }), await code({ ca: read(ca) }),
    await code({ ca: read(other), cert: read(cert), key: read(key) }, { key: "tsk_secret" }), await code({}, { key: "tsk_secret" }),
    await code({ ca: read(ca), servername: "elsewhere.example" }));
}

main();
"""


def test_a_certificate_identifies_the_caller_and_nobody_else_gets_a_call(package, tmp_path):
    """Also if the environment tells Node to verify nothing."""
    authority, other = Authority(tmp_path), Authority(tmp_path, "other")
    certificate = authority.issue_server()
    shop = authority.issue("shop", uris=["spiffe://example.org/shop"])
    tls = {"certificate": str(certificate.file), "key": str(certificate.key_file), "client_authorities": str(authority.file)}
    callers = [{"name": "shop", "spiffe": "spiffe://example.org/shop", "applications": ["shop"], "methods": "*"}]
    (package / "tls.js").write_text(TLS_PROGRAM)
    with Server(tmp_path / "data", configuration={"tls": tls, "callers": callers}) as server:
        files = (authority.file, other.file, shop.file, shop.key_file)
        shown = node("tls.js", server.address, *files, directory=package, env={**os.environ, "NODE_TLS_REJECT_UNAUTHORIZED": "0"})
    assert shown.split() == ["OK", "CREDENTIALS_MISSING", "UNAVAILABLE", "UNAVAILABLE", "UNAVAILABLE"]


TYPED = """
import { Client, NotFound, messages } from "touchstone-client";

export async function login(client: Client, posture: messages.DevicePosture): Promise<string> {
  const begun = await client.beginEvaluation({ policy: "login", posture });
  if (begun.denial) return begun.denial.message?.text ?? begun.denial.reason;
  const signature: Uint8Array = begun.signingInput;
  const answer = await client.submitAttempt(
    { evaluation: begun.evaluation, key: { signature, factor: "FACTOR_BIOMETRY" } }, { timeout: 2_000 });
  if (answer.outcome === "OUTCOME_SUCCEEDED") return answer.token;
  const until: Date | undefined = answer.tokenExpiresAt;
  const wait: number | undefined = answer.retryAfter;
  for await (const { event } of client.watchEvents({ afterSequence: 1n, filter: { kinds: ["a"] } })) {
    if (event && event.sequence > 10n) return event.details["a"] ?? String(until) + wait;
  }
  try {
    await client.getBinding({ bindingId: "a" });
  } catch (error) {
    if (error instanceof NotFound) return error.reason + error.fields["a"] + error.retryAfter;
  }
  return "";
}
"""
MISTAKES = [
    ("client.beginEvaluation({ polic: 'login' })", "polic"),
    ("client.submitAttempt({ key: { factor: 'FACTOR_FINGER' } })", "FACTOR_FINGER"),
    ("client.beginEvaluations({})", "beginEvaluations"),
    ("client.beginEvaluation({}, { timeOut: 1 })", "timeOut"),
]


def test_its_types_are_what_it_takes_and_gives(package):
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.exit("tsc is missing: run `make test-clients`", returncode=1)

    def compiled(text):
        (package / "typed.ts").write_text(text)
        return subprocess.run(
            [compiler, "--project", "."], cwd=package, capture_output=True, text=True, timeout=SECONDS, check=False
        )

    options = {"noEmit": True, "strict": True, "target": "es2020", "module": "node16", "moduleResolution": "node16", "types": []}
    (package / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": ["typed.ts"]}))
    right = compiled(TYPED)
    assert right.returncode == 0, right.stdout
    for mistake, name in MISTAKES:
        wrong = compiled(f'import {{ Client }} from "touchstone-client";\nexport const mistake = (client: Client) => {mistake};\n')
        assert wrong.returncode != 0 and name in wrong.stdout, mistake


ECHO = """
const { createInterface } = require("node:readline");
const messages = require(process.argv[2]);
const byName = new Map(Object.values(messages).filter((one) => one.fullName).map((one) => [one.fullName, one]));
createInterface({ input: process.stdin }).on("line", (line) => {
  const [name, hex] = line.split(" ");
  const type = byName.get(name);
  console.log(type ? type.encode(type.decode(Buffer.from(hex, "hex"))).toString("hex") : "none");
});
"""


def test_messages_are_read_and_written_as_pythons_are(tmp_path):
    """Random ones of every type, with times in whole milliseconds, which Date has."""
    sys.path.insert(0, str(CROSSCHECK))
    import crosscheck

    types, types_with_maps = (crosscheck.load(ROOT / "Protos", has_maps=has_maps) for has_maps in (False, True))
    generator = crosscheck.Generator(5)
    sent = []
    for name, cls in sorted(types.items()):
        if name.startswith(("touchstone.v1.", "google.rpc.")):
            for density in (0.1, 0.5, 1) * 10:
                message = types_with_maps[name].FromString(generator.message(cls, density).SerializeToString())
                sent.append((name, in_milliseconds(message)))
    assert len(sent) > 1_000
    (tmp_path / "echo.js").write_text(ECHO)
    lines = "".join(f"{name} {message.SerializeToString().hex()}\n" for name, message in sent)
    answers = node("echo.js", SOURCES / "generated/messages.js", directory=tmp_path, input=lines).splitlines()
    assert len(answers) == len(sent)
    for (name, message), answer in zip(sent, answers, strict=True):
        assert type(message).FromString(bytes.fromhex(answer)) == message, name


def in_milliseconds(message):
    """Without what JavaScript's types of times do not hold."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            continue
        for one in value if field.is_repeated else [value]:
            if field.message_type.full_name in ("google.protobuf.Timestamp", "google.protobuf.Duration"):
                one.seconds = abs(one.seconds) % 10**9
                one.nanos = abs(one.nanos) % 1_000 * 1_000_000
            else:
                in_milliseconds(one)
    return message
