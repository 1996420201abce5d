"""Three hosts with etcd, Patroni and PostgreSQL, as docs/HIGH-AVAILABILITY.md has them, and Touchstone's database there."""

import base64
import json
import os
import re
import secrets
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from support.certificates import Authority
from support.server import run

from .network import CLIENTS, CLUSTER, Host, make_networks

_DEPLOY = Path(__file__).parents[3] / "deploy"
_REST_PORT = 8008
#: A leader that is out of reach does not answer at all.
_REST_SECONDS = 1
#: Looks again so often.
_PAUSE_SECONDS = 0.05
#: Longer than anything takes that Patroni does, on a machine that is busy.
PATIENCE_SECONDS = 120
#: For a connection to a host that does not answer.
QUERY_SECONDS = 5
#: Of each host's log, with PostgreSQL's in it.
LINES = 80


class Cluster:
    """Started, with an empty database that has Touchstone's tables."""

    def __init__(self, directory):
        make_networks()
        self._directory = directory
        self._authority = Authority(directory)
        self._passwords = {name: secrets.token_hex(16) for name in ("replication", "rewind", "rest", "touchstone")}
        self.hosts = {}
        for number in (1, 2, 3):
            host = Host(number, directory / f"host{number}")
            self.hosts[host.name] = host
        for host in self.hosts.values():
            self._prepare(host)
        for host in self.hosts.values():
            host.start()
        try:
            self.await_whole()
            self._make_database()
        except BaseException:
            self.close()
            raise

    def heal(self):
        """Every host runs, and reaches every other one."""
        for host in self.hosts.values():
            if not host.is_running:
                host.start()
            for network in host.addresses:
                host.plug_in(network)
            host.resume()

    def close(self):
        for host in self.hosts.values():
            if host.is_running:
                host.kill()

    def _prepare(self, host):
        tls = host.directory / "tls"
        tls.mkdir(parents=True)
        issued = self._authority.issue(host.name, addresses=host.addresses.values())
        shutil.copy(issued.file, tls / "server.pem")
        shutil.copy(issued.key_file, tls / "server.key")
        shutil.copy(self._authority.file, tls / "authority.pem")
        shutil.copy(_DEPLOY / "patroni.yaml", host.directory)
        for path in (host.directory, *host.directory.rglob("*")):
            shutil.chown(path, "postgres", "postgres")
        host.environment = self._environment(host)

    def _environment(self, host):
        address = host.addresses[CLUSTER]
        peers = {each.name: f"http://{each.addresses[CLUSTER]}:2380" for each in self.hosts.values()}
        return {
            "ETCD_NAME": host.name,
            "ETCD_ENABLE_V2": "true",
            "ETCD_DATA_DIR": "/var/lib/postgresql/etcd",
            "ETCD_LISTEN_PEER_URLS": f"http://{address}:2380",
            "ETCD_LISTEN_CLIENT_URLS": f"http://{address}:2379",
            "ETCD_INITIAL_ADVERTISE_PEER_URLS": f"http://{address}:2380",
            "ETCD_ADVERTISE_CLIENT_URLS": f"http://{address}:2379",
            "ETCD_INITIAL_CLUSTER": ",".join(f"{name}={url}" for name, url in peers.items()),
            "PATRONI_NAME": host.name,
            "PATRONI_ETCD_HOSTS": ",".join(f"{each.addresses[CLUSTER]}:2379" for each in self.hosts.values()),
            "PATRONI_RESTAPI_LISTEN": f"0.0.0.0:{_REST_PORT}",
            "PATRONI_RESTAPI_CONNECT_ADDRESS": f"{address}:{_REST_PORT}",
            "PATRONI_RESTAPI_USERNAME": "patroni",
            "PATRONI_RESTAPI_PASSWORD": self._passwords["rest"],
            "PATRONI_POSTGRESQL_LISTEN": "0.0.0.0:5432",
            "PATRONI_POSTGRESQL_CONNECT_ADDRESS": f"{address}:5432",
            "PATRONI_REPLICATION_PASSWORD": self._passwords["replication"],
            "PATRONI_REWIND_PASSWORD": self._passwords["rewind"],
        }

    # Touchstone's database

    @property
    def uri(self):
        """Of all hosts, of which one takes what is written."""
        hosts = ",".join(host.addresses[CLIENTS] for host in self.hosts.values())
        return f"postgresql://touchstone@{hosts}/touchstone?passfile={self._passfile}&sslrootcert={self._authority.file}"

    @property
    def _passfile(self):
        return self._directory / "pgpass"

    def _make_database(self):
        password = self._passwords["touchstone"]
        self._passfile.touch(mode=0o600)
        self._passfile.write_text(f"*:5432:touchstone:touchstone:{password}\n")
        host = self.hosts[self.leader()]
        given = host.directory / "touchstone-password"
        given.write_text(password)
        script = host.directory / "role.sql"
        shutil.copy(_DEPLOY / "postgresql-role.sql", script)
        for path in (given, script):
            shutil.chown(path, "postgres", "postgres")
        host.run(
            *("psql", "--no-psqlrc", "--quiet", "--dbname=postgres", "--file=/var/lib/postgresql/role.sql"),
            environment={"TOUCHSTONE_PASSWORD_FILE": "/var/lib/postgresql/touchstone-password"},
        )
        migrated = run("migrate", "--store", self.uri)
        assert migrated.returncode == 0, migrated.stderr

    def query(self, sql):
        """Of the database, by the primary. Answers rows, columns apart by `|`."""
        uri = f"{self.uri}&sslmode=verify-full&target_session_attrs=read-write&connect_timeout={QUERY_SECONDS}"
        command = ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "-v", "ON_ERROR_STOP=1", "-c", sql, uri]
        ended = subprocess.run(
            command, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=60, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.splitlines()

    # Its state

    def leader(self):
        """The name of the host that Patroni says takes what is written; `None`: none answers that it does."""
        for host in self.hosts.values():
            if self._rest(host, "/primary")[0] == 200:
                return host.name
        return None

    def await_other_leader(self, old):
        """Answers its name."""

        def other():
            for host in self.hosts.values():
                if host.name != old and self._rest(host, "/primary")[0] == 200:
                    return host.name
            return None

        return self._until(other, "no other leader")

    def standbys(self):
        """The names of the others: of the one that a commit waits for, and of the one that follows."""
        members = self._members() or []
        [synchronous] = [each["name"] for each in members if each["role"] == "sync_standby"]
        [other] = [each["name"] for each in members if each["role"] == "replica"]
        return synchronous, other

    def await_whole(self):
        """Two others follow the leader, one of which a commit waits for. Answers the leader."""

        def whole():
            members = self._members() or []
            roles = sorted(each["role"] for each in members)
            leader = self.leader()
            if roles != ["leader", "replica", "sync_standby"] or leader is None:
                return None
            # What etcd has of a member may be some seconds old.
            followers = self._followers(self.hosts[leader])
            return leader if sorted(followers) == [("streaming", "async"), ("streaming", "sync")] else None

        return self._until(whole, "not whole")

    def _followers(self, leader):
        """As its PostgreSQL has them: state, and whether a commit waits for it."""
        status, answer = self._rest(leader, "/patroni")
        if status != 200:
            return []
        return [(each["state"], each["sync_state"]) for each in json.loads(answer).get("replication", [])]

    def await_metrics(self, name, metric):
        """Those of each host's Patroni, once this one is 1 at the host of that name: its Patroni looks at the cluster every five
        seconds."""

        def found():
            metrics = {each.name: self._metrics(each) for each in self.hosts.values()}
            return metrics if metrics[name].get(metric) == 1 else None

        return self._until(found, f"{metric} is not 1 at {name}")

    def _metrics(self, host):
        """Each has the one label `scope`."""
        _, text = self._rest(host, "/metrics")
        return {name: float(number) for name, number in re.findall(r'(?m)^(\w+)\{scope="\w+"\} (\S+)$', text)}

    def switch_over(self, old, new):
        """By hand, as `patronictl switchover` does. Returns when it is done."""
        status, answer = self._rest(
            self.hosts[old], "/switchover", {"leader": old, "candidate": new}, seconds=PATIENCE_SECONDS
        )
        assert status == 200, answer

    def _members(self):
        for host in self.hosts.values():
            status, answer = self._rest(host, "/cluster")
            if status == 200:
                return json.loads(answer)["members"]
        return None

    def _rest(self, host, path, body=None, seconds=_REST_SECONDS):
        """Status and answer; 0 without one."""
        request = urllib.request.Request(
            f"http://{host.addresses[CLIENTS]}:{_REST_PORT}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": "Basic " + base64.b64encode(f"patroni:{self._passwords['rest']}".encode()).decode()},
        )
        try:
            with _OPENER.open(request, timeout=seconds) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def _until(self, find, complaint):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (found := find()) is None:
            assert time.monotonic() < deadline, f"{complaint}: {self._members()}"
            time.sleep(_PAUSE_SECONDS)
        return found

    def report(self):
        """What is known of the hosts, and the latest lines of their logs."""
        logs = sorted(self._directory.glob("host*/patroni.log"))
        lines = ["\n".join([str(path), *path.read_text(errors="replace").splitlines()[-LINES:]]) for path in logs]
        return "\n".join([str(self._members()), *lines])


#: Not by a proxy that the environment names.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
