"""How long support staff wait for a person among PROFILES=10000000, each with a bound phone: FindProfiles by each kind of id.

On SQLite's file, and on PostgreSQL with fsync on this machine; STORES=sqlite measures one. One search at a time, each commits
its event. Ends with 1 if a 99th percentile is over LIMIT_MS.
"""

import contextlib
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import grpc
from service import CORES, DATABASE, Service, new_postgres, touchstone
from support import seeding
from support.credentials import Key
from support.stubs import administration_pb2, administration_pb2_grpc

PROFILES = int(os.environ.get("PROFILES", "10000000"))
STORES = os.environ.get("STORES", "sqlite postgresql").split()
LIMIT_MS = 50

APPLICATION = "find"
#: `SearchLimit.burst`: the searches of one caller, so as many callers as it takes.
SEARCHES_PER_CALLER = 60
CALLERS = 50

#: A P-256 key that no test uses, as `HardwareKeyRecord` stores it.
HARDWARE_KEYS = (bytes([1, 65, 4]) + bytes(64)).hex()

SQLITE = f"""
PRAGMA temp_store = MEMORY;
BEGIN;
CREATE TEMP TABLE numbers AS WITH RECURSIVE numbers (n) AS (
  SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {PROFILES}) SELECT n FROM numbers;
INSERT INTO profiles (application_id, profile_id, is_biometry_enabled, is_gesture_enabled, is_passcode_enabled, incarnation, version)
  SELECT '{APPLICATION}', printf('person-%08d', n), 1, 1, 1, n, 1 FROM numbers;
INSERT INTO bindings (number, binding_id, application_id, profile_id, device_id, device_name, biometry_type, hardware_keys,
    is_revoked, device_lock_count, created_at, version)
  SELECT n, printf('binding-%08d', n), '{APPLICATION}', printf('person-%08d', n), printf('phone-%08d', n), 'A phone', 3,
    x'{HARDWARE_KEYS}', 0, 0, 0, 1 FROM numbers;
COMMIT;
PRAGMA wal_checkpoint(TRUNCATE);
"""

POSTGRESQL = [
    f"""INSERT INTO profiles (application_id, profile_id, is_biometry_enabled, is_gesture_enabled, is_passcode_enabled,
      incarnation, version)
    SELECT '{APPLICATION}', ('person-' || lpad(n::TEXT, 8, '0'))::BYTEA, TRUE, TRUE, TRUE, n, 1
    FROM generate_series(1, {PROFILES}) AS n""",
    f"""INSERT INTO bindings (binding_id, application_id, profile_id, device_id, device_name, biometry_type, hardware_keys,
      is_revoked, device_lock_count, created_at, version)
    SELECT ('binding-' || number)::BYTEA, '{APPLICATION}', ('person-' || number)::BYTEA, ('phone-' || number)::BYTEA, 'A phone',
      3, '\\x{HARDWARE_KEYS}', FALSE, 0, 0, 1
    FROM (SELECT lpad(n::TEXT, 8, '0') AS number FROM generate_series(1, {PROFILES}) AS n) AS numbers""",
    "VACUUM ANALYZE",
]


def seed_sqlite(directory):
    Service(directory).stop()
    with contextlib.closing(seeding.connect(directory / "data/touchstone.db")) as connection:
        connection.executescript(SQLITE)


def seed_postgresql(directory, uri):
    (directory / "data").mkdir()
    touchstone("migrate", store=uri)
    touchstone("keys", "new", directory / "data/keys", store=uri)
    for statement in POSTGRESQL:
        seeding.execute(uri, statement)


def searches(number):
    """Each kind, about one person: (kind, text, whether it is a beginning, whom it finds)."""
    person = f"person-{number:08}"
    return [
        ("profile id", person, False, person),
        ("device id", f"phone-{number:08}", False, person),
        ("binding id", f"binding-{number:08}", False, person),
        ("beginning", person[:11], True, f"{person[:11]}{'0' * 4}" if number >= 10_000 else "person-00000001"),
        ("unknown id", f"nobody-{number:08}", False, None),
    ]


def search(directory, store):
    """The milliseconds of each search, by its kind."""
    keys = [Key() for _ in range(CALLERS)]
    entries = "".join(
        f"  - {{name: c{index}, keys: [{key.digest}], applications: [{APPLICATION}], methods: [AdministrationService/FindProfiles]}}\n"
        for index, key in enumerate(keys)
    )
    service = Service(directory, store, f"callers:\n{entries}")
    found = {}
    with grpc.insecure_channel(service.address) as channel:
        stub = administration_pb2_grpc.AdministrationServiceStub(channel)
        for key in keys:
            metadata = [("authorization", f"Bearer {key.text}")]
            for _ in range(SEARCHES_PER_CALLER // len(searches(1))):
                for kind, text, is_prefix, person in searches(random.randint(1, PROFILES)):
                    request = administration_pb2.FindProfilesRequest(application_id=APPLICATION, text=text, prefix=is_prefix)
                    begin = time.perf_counter()
                    answer = stub.FindProfiles(request, metadata=metadata)
                    found.setdefault(kind, []).append((time.perf_counter() - begin) * 1e3)
                    if [it.profile_id for it in answer.profiles[:1]] != [person][: person is not None]:
                        sys.exit(f"{kind} {text!r} found {answer}")
    service.stop()
    return found


def main():
    print(f"{len(CORES)} cores, {PROFILES:,} profiles", flush=True)
    slow = False
    for store in STORES:
        with tempfile.TemporaryDirectory(prefix="touchstone-find-") as name, contextlib.ExitStack() as stack:
            directory, uri, begin = Path(name), "sqlite", time.monotonic()
            if store == "sqlite":
                seed_sqlite(directory)
            else:
                server = new_postgres()
                stack.callback(server.close)
                uri = server.create_database(DATABASE)
                seed_postgresql(directory, uri)
            print(f"{store}: seeded in {time.monotonic() - begin:.0f} s", flush=True)
            for kind, times in search(directory, uri).items():
                p99 = statistics.quantiles(times, n=100)[98]
                slow |= p99 > LIMIT_MS
                print(f"  {kind}: median {statistics.median(times):.2f}, p99 {p99:.2f}, most {max(times):.2f} ms", flush=True)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
