"""Told to stop in the middle of TLS, proofs and commits, the service ends as it says: no thread uses what its end took away.

`FAULTS_STOPS` says how often for each store (3): `make soak STOPS=2000`.
"""

import os
import subprocess
import threading
import uuid

import grpc
import pytest

from support.android import AndroidPhone, Maker
from support.certificates import Authority
from support.credentials import Key, caller_with

STOPS = int(os.environ.get("FAULTS_STOPS") or 3)
#: As many clients as keep two cores busy while the service ends.
CLIENTS = 4
#: Much longer than the first proof takes on a busy machine.
FIRST_SECONDS = 60


class Backend:
    """Binds attested phones over a TLS connection, one after the other, until the service is gone."""

    def __init__(self, server, authority, key, maker):
        #: The first phone is bound, or was refused.
        self.has_begun = threading.Event()
        self.refusal = None
        self._channel = server.channel(authority=authority)
        self._caller = caller_with(self._channel, "shop", key)
        self._maker = maker
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self):
        try:
            while True:
                phone = AndroidPhone(self._maker)
                begun = self._caller.begin_binding(phone, str(uuid.uuid4()))
                keys = phone.attested_keys(begun.signing_input)
                self._caller.bindings.CompleteBinding(self._caller.completion(phone, begun, keys=keys))
                self.has_begun.set()
        except grpc.RpcError as error:
            self.refusal = error
            self.has_begun.set()

    def join(self):
        self._thread.join(FIRST_SECONDS)
        assert not self._thread.is_alive()


@pytest.fixture
def busy_cores():
    """In a soak, other work takes every core, so that threads of the service are late at its end."""
    loops = os.cpu_count() if STOPS > 100 else 0
    processes = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(loops)]
    yield
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.parametrize("store", ["sqlite_site", "postgres_site"])
@pytest.mark.usefixtures("busy_cores")
def test_it_ends_by_itself_in_the_middle_of_tls_proofs_and_commits(request, tmp_path, store):
    site, authority, key, maker = request.getfixturevalue(store), Authority(tmp_path), Key(), Maker()
    certificate = authority.issue_server()
    configuration = {
        "tls": {"certificate": str(certificate.file), "key": str(certificate.key_file)},
        "callers": [{"name": "shop", "applications": ["shop"], "methods": "*", "keys": [key.digest]}],
        "attestation": {"roots": {"android": str(maker.write_roots(tmp_path / "roots.pem"))}},
    }
    for stop in range(STOPS):
        server = site.start(configuration)
        backends = [Backend(server, authority, key, maker) for _ in range(CLIENTS)]
        for backend in backends:
            assert backend.has_begun.wait(FIRST_SECONDS), server.errors
            assert backend.refusal is None, backend.refusal
        server.process.terminate()
        assert server.process.wait(FIRST_SECONDS) == 0, f"stop {stop}: {server.errors}"
        for backend in backends:
            backend.join()
        server.close()
