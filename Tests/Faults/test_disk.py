"""A disk that is full, read-only or fails: no success is answered, it is said why, and nothing answered is lost."""

import errno
import subprocess
import time

import grpc
import pytest

from faults.load import APPLICATION, Load
from faults.site import SQLiteSite
from faults.watching import NOT_SERVING, SERVING, await_status
from support.caller import new_caller, new_profile_id
from support.phone import Phone

#: Customers have done so many things before a fault: there is something to lose, and more under way.
ACTS = 40
#: While a disk fails, each of two shards says once a second what failed, and once what to do; the health notices it
#: once.
LINES_PER_SECOND = 8
#: By when the log has a line on a very busy machine.
LOG_SECONDS = 10

#: What comes and goes with the service running, and what the log says of it.
PASSING = {
    "full": (lambda disk: disk.fill(), "database or disk is full"),
    "read-only": (lambda disk: disk.fail_writes(errno.EROFS), "disk I/O error (Read-only file system)"),
    "write-error": (lambda disk: disk.fail_writes(errno.EIO), "disk I/O error (Input/output error)"),
}
START_AGAIN = "check the disk, then start the service again"


@pytest.mark.parametrize(("fault", "reason"), PASSING.values(), ids=PASSING)
def test_a_disk_that_refuses_writes_is_said_and_recovered_from(disk_site, disk, seed, fault, reason):
    load = Load(seed)
    server = disk_site.start()
    run = load.run(server)
    run.await_acts(ACTS)
    fault(disk)
    quiet = Quiet(server)
    check_refusals(run)
    await_status(server, NOT_SERVING)
    assert disk.failed_writes > 0
    await_line(server, reason)
    quiet.check()
    disk.heal()
    await_status(server, SERVING)
    # The same process: what it remembers is what is on the disk.
    load.check(server)
    disk_site.check_log()
    disk_site.kill()
    load.check(disk_site.start())
    disk_site.check_log()


def test_after_a_failed_fsync_nothing_is_answered_until_the_service_starts_again(disk_site, disk, seed):
    load = Load(seed)
    server = disk_site.start()
    run = load.run(server)
    run.await_acts(ACTS)
    disk.fail_syncs()
    quiet = Quiet(server)
    check_refusals(run)
    disk.heal()
    await_status(server, NOT_SERVING)
    # A second fsync would succeed, and would mean nothing: nobody asks for one.
    assert disk.failed_syncs == 1
    await_line(server, "disk I/O error (Input/output error)")
    caller = new_caller(server, APPLICATION)
    for _ in range(3):
        with pytest.raises(grpc.RpcError) as refused:
            caller.bind(Phone())
        assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
    await_line(server, START_AGAIN)
    quiet.check()
    server.kill()
    # What the disk lost can still be read, and everything is built on it from now on. Then the power goes.
    load.check(disk_site.start())
    disk_site.kill()
    load.check(disk_site.start())
    disk_site.check_log()


def test_after_a_checkpoints_failed_fsync_the_log_is_kept_and_nothing_is_answered(disk_site, disk, seed):
    load = Load(seed)
    server = disk_site.start()
    run = load.run(server)
    run.await_acts(ACTS)
    disk.fail_syncs(of_database_only=True)
    # Has the log copied into the database, and emptied.
    new_caller(server, APPLICATION).erase_profile(new_profile_id())
    check_refusals(run)
    disk.heal()
    await_status(server, NOT_SERVING)
    assert disk.failed_syncs == 1
    await_line(server, "a checkpoint failed")
    await_line(server, START_AGAIN)
    disk_site.kill()
    load.check(disk_site.start())
    disk_site.check_log()


def test_a_disk_that_fails_at_the_start_is_refused_in_one_line(disk_site, disk, seed):
    load = Load(seed, customers=2)
    run = load.run(disk_site.start())
    run.await_acts(ACTS)
    disk_site.kill()
    run.end()
    disk.fail_writes(errno.EROFS)
    ended = disk_site.run_to_end()
    assert ended.returncode == 73, ended
    assert ended.stdout == ""
    [line] = ended.stderr.splitlines()
    assert "touchstone.db-wal: Read-only file system" in line
    disk.heal()
    load.check(disk_site.start())


def test_a_full_file_system_is_said_and_recovered_from(small_site, seed):
    """A real one: also for what the shim does not stand before."""
    filler = small_site.data_directory.parent / "filler"
    load = Load(seed)
    server = small_site.start()
    run = load.run(server)
    run.await_acts(ACTS)
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(bytes(1 << 16))
    check_refusals(run)
    await_status(server, NOT_SERVING)
    await_line(server, "database or disk is full")
    filler.unlink()
    await_status(server, SERVING)
    load.check(server)
    small_site.check_log()


def test_a_loss_of_power_is_found_out_where_fsync_does_nothing(disk_site, disk, seed):
    """These tests' own test: on a disk that lies, what was answered is lost, and they see it."""
    load = Load(seed)
    server = disk_site.start()
    disk.lie()
    run = load.run(server)
    run.await_acts(ACTS)
    disk_site.kill()
    run.end()
    with pytest.raises((AssertionError, grpc.RpcError)):
        load.check(disk_site.start())


def check_refusals(run):
    """Everybody is refused, with a status that tells to try again."""
    run.await_refusals()
    assert len(run.errors) == run.customers
    others = [error for error in run.errors if error.code() != grpc.StatusCode.UNAVAILABLE]
    assert not others, others


def await_line(server, text):
    """Returns when the log has it. A line comes some milliseconds after what it is about."""
    end = time.monotonic() + LOG_SECONDS
    while text not in server.errors:
        assert time.monotonic() < end, server.errors
        time.sleep(0.01)


class Quiet:
    """The cause of a failure is not drowned in itself, from the failure on."""

    def __init__(self, server):
        self._server = server
        self._began = time.monotonic()
        self._lines_before = self._lines

    @property
    def _lines(self):
        return sum(" info " not in line for line in self._server.errors.splitlines())

    def check(self):
        most = LINES_PER_SECOND * (1 + time.monotonic() - self._began)
        assert self._lines - self._lines_before <= most, self._server.errors


@pytest.fixture
def small_site(tmp_path):
    """On a file system of 64 MB: four times what the write-ahead log takes."""
    directory = tmp_path / "small"
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(directory)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("may not mount a file system: the other tests' disk stands for it")
    site = SQLiteSite(directory)
    yield site
    site.close()
    subprocess.run(["umount", str(directory)], check=True)
