"""The pods of deploy/kubernetes, as a kubelet starts them: their arguments, and volumes with the owners and modes that it gives them."""

import json
import shutil
import ssl
import stat
import tempfile
import urllib.request
from pathlib import Path

import pytest

from containers import SHOP, USER

from support.certificates import Authority
from support.phone import Phone
from support.postgres import PostgresServer
from support.stubs import evaluation_pb2

#: Written by Tests/Manifests/rendered.py.
RENDERED = Path(__file__).resolve().parents[2] / ".build-image"
SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
OTHER_SCHEMA = 76


class Pod:
    """The pods of an overlay, and the directories that stand for their volumes."""

    def __init__(self, overlay, containers):
        self._resources = json.loads((RENDERED / f"{overlay}.json").read_text(encoding="utf-8"))
        self._containers = containers
        self.directory = Path(tempfile.mkdtemp(prefix="touchstone-pod-"))
        self.directory.chmod(0o755)
        self.authority = Authority(self.directory)
        self.shop = self.authority.issue("shop", uris=[SHOP])

    def one(self, kind, name="touchstone"):
        (found,) = [r for r in self._resources if r["kind"] == kind and r["metadata"]["name"].startswith(name)]
        return found

    def configure(self, change=lambda text: text):
        (text,) = self.one("ConfigMap")["data"].values()
        self._write("config", {"touchstone.yaml": change(text)}, mode=0o644)

    def issue(self, name, **names):
        """As cert-manager writes a secret."""
        issued = self.authority.issue(name, **names)
        self._write(name, {"tls.crt": issued.pem, "tls.key": issued.key_pem, "ca.crt": self.authority.pem}, mode=0o440)

    def keep(self, name, **files):
        """A secret that was made by hand."""
        self._write(name, files, mode=0o440)

    def _write(self, name, files, mode):
        """A volume of files: open to all, read-only, its files of root and, by fsGroup, of the pod's group."""
        volume = self.directory / name
        volume.mkdir()
        volume.chmod(0o777)
        for file_name, content in files.items():
            path = volume / file_name
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            shutil.chown(path, 0, USER)
            path.chmod(mode)

    def volume(self, name):
        """One for data, which fsGroup gives to the pod's group."""
        volume = self.directory / name
        volume.mkdir()
        shutil.chown(volume, 0, USER)
        volume.chmod(0o2775)
        return volume

    def mounts(self, template):
        (container,) = template["spec"]["containers"]
        return [
            f"--volume={self.directory / mount['name']}:{mount['mountPath']}{':ro' if mount.get('readOnly') else ''}"
            for mount in container["volumeMounts"]
        ]

    def run(self, kind, name="touchstone"):
        """Runs it to its end: the completed process."""
        template = self.one(kind, name)["spec"]["template"]
        arguments = template["spec"]["containers"][0]["args"]
        return self._containers.run(self._user(template), mounts=self.mounts(template), image_arguments=arguments)

    def start(self):
        template = self.one("Deployment")["spec"]["template"]
        arguments = template["spec"]["containers"][0]["args"]
        return self._containers.start(
            self, arguments=[self._user(template)], mounts=self.mounts(template), image_arguments=arguments
        )

    @staticmethod
    def _user(template):
        context = template["spec"]["securityContext"]
        return f"--user={context['runAsUser']}:{context['runAsGroup']}"

    def close(self):
        shutil.rmtree(self.directory)


@pytest.fixture
def pod(containers, request):
    pod = Pod(request.param, containers)
    yield pod
    # Its processes have the volumes.
    containers.close()
    pod.close()


def probe(pod, path):
    """As the kubelet does it, which verifies no certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    template = pod.one("Deployment")["spec"]["template"]
    (port,) = [p["containerPort"] for p in template["spec"]["containers"][0]["ports"] if p["name"] == "operators"]
    with urllib.request.urlopen(f"https://127.0.0.1:{port}{path}", context=context, timeout=20) as answer:
        return answer.status


@pytest.mark.parametrize("pod", ["sqlite"], indirect=True)
def test_a_single_replica_makes_its_directory_in_the_volume_and_logs_in(pod):
    pod.configure()
    pod.issue("tls", hosts=["localhost"])
    volume = pod.volume("data")
    container = pod.start()
    assert [probe(pod, path) for path in ("/livez", "/readyz")] == [200, 200]
    caller, phone = container.caller(), Phone()
    caller.bind(phone)
    assert caller.login(phone).outcome == SUCCEEDED
    status = (volume / "data").stat()
    assert (status.st_uid, stat.S_IMODE(status.st_mode) & 0o777) == (USER, 0o700)
    assert container.terminate() == 0


@pytest.fixture
def postgres():
    """Lets the role in by a certificate alone."""
    postgres = PostgresServer()
    yield postgres
    postgres.close()


def require_certificates(postgres, authority):
    server = authority.issue("postgresql-server", addresses=[postgres.address])
    files = {"ssl_cert_file": server.file, "ssl_key_file": server.key_file, "ssl_ca_file": authority.file}
    for setting, path in files.items():
        mine = postgres.directory / path.name
        shutil.copy(path, mine)
        shutil.chown(mine, "nobody", "nogroup")
        mine.chmod(0o600)
        postgres.settings[setting] = mine
    postgres.settings["ssl"] = "on"
    (postgres.directory / "data/pg_hba.conf").write_text(
        "local all all trust\nhostssl touchstone touchstone 127.0.0.0/8 cert\n"
    )
    postgres.restart()
    postgres.create_database("touchstone")


@pytest.mark.parametrize("pod", ["postgresql"], indirect=True)
def test_a_replica_waits_for_the_migration_and_logs_in(pod, postgres, containers):
    """libpq, as it was built for the image, shows the mounted certificate to PostgreSQL."""
    require_certificates(postgres, pod.authority)
    pod.configure(lambda text: text.replace("postgresql.postgresql.svc", postgres.address))
    pod.issue("tls", hosts=["localhost"])
    pod.issue("postgresql", common_name="touchstone")
    assert containers.run(image_arguments=["keys", "new", "/var/lib/touchstone/keys"]).returncode == 0
    pod.keep("keys", keys=containers.run(image_arguments=["keys", "export", "/var/lib/touchstone/keys"]).stdout)

    early = pod.run("Deployment")
    assert early.returncode == OTHER_SCHEMA, early.stderr
    migrated = pod.run("Job", "touchstone-migrate")
    assert migrated.returncode == 0, migrated.stderr
    container = pod.start()
    caller, phone = container.caller(), Phone()
    caller.bind(phone)
    assert caller.login(phone).outcome == SUCCEEDED
    assert container.terminate() == 0
