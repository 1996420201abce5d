"""The process: how it starts, serves many at once, and ends."""

import fcntl
import os
import pty
import re
import resource
import signal
import socket
import subprocess
import termios
import threading
from pathlib import Path

import grpc
import pytest

from support import http2, preload
from support.caller import all_at_once, from_threads, new_caller
from support.load import LOAD
from support.phone import Phone
from support.server import BINARY, run
from support.stubs import PROTOS, evaluation_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED


@pytest.mark.parametrize("shards", [1, 4])
def test_it_serves_on_a_free_port_and_ends_on_sigterm(start, shards):
    server = start(arguments=["--shards", str(shards)])
    host, port = server.address.rsplit(":", 1)
    assert host == "127.0.0.1"
    assert int(port) > 0
    phone = Phone()
    caller = new_caller(server)
    caller.bind(phone)
    assert caller.login(phone).outcome == SUCCEEDED
    server.terminate()


def test_it_tells_its_version():
    told = run("--version")
    assert (told.returncode, told.stdout) == (0, (PROTOS.parent / "VERSION").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("stdout", "reason"), [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
def test_what_cannot_be_printed_is_no_success(stdout, reason):
    """Such as a key, which would be lost."""
    command = ["sh", "-c", f'exec "$@" {stdout}', "sh", BINARY, "config", "schema"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (73, f"touchstone: stdout: cannot be written: {reason}\n")


def test_a_closed_stdout_becomes_no_file_of_the_process(start, tmp_path):
    """The next file that is opened would get its number, and a stream would be copied into its own copy."""
    directory = start().data_directory
    command = ["sh", "-c", 'exec "$@" >&-', "sh", BINARY, "backup", "--data-dir", directory, "--to", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 73 and "stdout" in done.stderr, done
    assert not [name for name in os.listdir(directory) if "part" in name]


@pytest.fixture(scope="module")
def injector(tmp_path_factory):
    return preload.build(Path(preload.__file__).with_name("injector.c"), tmp_path_factory.mktemp("injector"))


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--version"], 0),
        ([], 64),
    ],
    ids=lambda value: " ".join(value) or "none" if isinstance(value, list) else str(value),
)
def test_a_command_ends_as_it_says_without_exit_handlers(injector, tmp_path, arguments, status):
    """OpenSSL's exit handler frees what other threads still use. The arguments arrive although a preloaded library set a variable."""
    handlers = tmp_path / "handlers"
    ended = run(*arguments, environment={"LD_PRELOAD": str(injector), "EXIT_HANDLERS": str(handlers)})
    assert ended.returncode == status, ended.stderr
    assert (ended.stdout != "") == (status == 0)
    assert (ended.stderr != "") == (status != 0)
    assert not handlers.exists()


def test_the_service_ends_without_exit_handlers(injector, start, tmp_path):
    handlers = tmp_path / "handlers"
    server = start(environment={"LD_PRELOAD": str(injector), "EXIT_HANDLERS": str(handlers)})
    phone, caller = Phone(), new_caller(server)
    caller.bind(phone)
    assert caller.login(phone).outcome == SUCCEEDED
    server.terminate()
    assert not handlers.exists()


def test_the_load_client_gets_its_arguments_and_ends_without_exit_handlers(injector, tmp_path):
    handlers = tmp_path / "handlers"
    command = [LOAD, "--target", "127.0.0.1:1", "--rate", "1", "--duration", "200ms"]
    environment = {**os.environ, "LD_PRELOAD": str(injector), "EXIT_HANDLERS": str(handlers)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert "127.0.0.1:1" in ended.stdout + ended.stderr
    assert not handlers.exists()


def test_the_log_names_the_verifier_of_signatures(start):
    """crypto_mb if it was built in and the CPU has its instructions."""
    line = start().next_error("signatures are verified")
    assert re.search(r"by=(swift-crypto|crypto_mb \d+\.\d+\.\d+)\b(?!, because)", line), line


def test_it_ends_on_sigint(start):
    server = start()
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(10) == 0


def test_it_ends_with_its_terminal(start):
    """Which tells by SIGHUP, as others ask for a reload."""
    controller, terminal = pty.openpty()
    server = start(
        stdin=terminal, start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    )
    os.close(terminal)
    os.close(controller)
    server.ends_with(0)


def test_a_second_signal_ends_it_at_once(start):
    """Whatever calls are still running."""
    server = start()
    with http2.Client(server.address) as client:
        client.send_headers("/touchstone.v1.TokenService/GetSigningKeys")
        # Once this one is answered, the one before it has begun.
        client.send_headers("/touchstone.v1.TokenService/GetSigningKeys", ("grpc-timeout", "1m"))
        client.answer()
        server.process.send_signal(signal.SIGTERM)
        server.next_error("not serving")
        server.process.send_signal(signal.SIGTERM)
        server.ends_with(128 + signal.SIGTERM)


def test_it_ends_under_load_without_dropping_a_call(start):
    """Every call gets an answer, or surely never reached the service; and every success stays one."""
    server = start()
    answered, lost = [], []
    under_way = threading.Barrier(9)

    def log_in_until_the_end(_):
        caller = new_caller(server, "shop")
        phone = Phone()
        caller.bind(phone)
        waited = False
        while True:
            try:
                request = caller.attempt(phone, caller.begin(phone))
                answered.append((request, caller.evaluations.SubmitAttempt(request)))
            except grpc.RpcError as error:
                lost.append(error)
                return
            if not waited:
                under_way.wait(30)
                waited = True

    clients = [threading.Thread(target=log_in_until_the_end, args=(index,)) for index in range(8)]
    for client in clients:
        client.start()
    under_way.wait(30)
    server.process.send_signal(signal.SIGTERM)
    for client in clients:
        client.join(30)
        assert not client.is_alive()
    assert server.process.wait(30) == 0, server.errors

    assert len(answered) >= 8
    assert all(answer.outcome == SUCCEEDED for _, answer in answered)
    assert [error.code() for error in lost] == [grpc.StatusCode.UNAVAILABLE] * len(clients)
    # grpcio's words for a connection that was never made; a cut one says otherwise.
    assert all("connect" in error.details() for error in lost), [error.details() for error in lost]

    caller = new_caller(start(), "shop")
    replays = all_at_once(caller.evaluations.SubmitAttempt, [request for request, _ in answered])
    assert {reply.outcome for reply in replays} == {evaluation_pb2.OUTCOME_INVALID_CONTEXT}


def test_many_connections_with_many_calls_at_once(server):
    """8 connections, 25 logins at a time on each: every one succeeds, and as whom it should."""

    def log_in(_):
        caller = new_caller(server)
        phones = [Phone() for _ in range(25)]
        for phone in phones:
            caller.bind(phone)
        requests = [caller.attempt(phone, caller.begin(phone)) for phone in phones]
        answers = all_at_once(caller.evaluations.SubmitAttempt, requests)
        assert [answer.outcome for answer in answers] == [SUCCEEDED] * len(phones)
        assert [answer.profile_id for answer in answers] == [phone.binding.profile_id for phone in phones]
        return [answer.token for answer in answers]

    tokens = [token for tokens in from_threads(8, log_in) for token in tokens]
    assert len(set(tokens)) == 200


def open_files(server):
    return {int(number) for number in os.listdir(f"/proc/{server.process.pid}/fd")}


def idle_sockets(server, count):
    host, port = server.address.rsplit(":", 1)
    return [socket.create_connection((host, int(port)), timeout=20) for _ in range(count)]


def is_closed(connection):
    """Waits for the service to close it, after its first frames."""
    while connection.recv(4_096):
        pass
    return True


def test_if_descriptors_run_out_the_oldest_stranger_makes_room_for_a_caller(start):
    server = start()
    known, phone = new_caller(server), Phone()
    known.bind(phone)
    idle = idle_sockets(server, 20)
    for stranger in idle:
        stranger.recv(1)
    opened = open_files(server)
    first_free = min(set(range(len(opened) + 1)) - opened)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (first_free, first_free))
    try:
        new_caller(server).get_settings("alice")
        assert "raise the limit of open files" in server.next_error("a connection cannot be accepted")
        assert is_closed(idle[0])
        assert known.login(phone).outcome == SUCCEEDED
    finally:
        for stranger in idle:
            stranger.close()
