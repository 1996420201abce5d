"""Every case between every pair of programs, in plaintext and over TLS."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from . import cases
from .processes import free_port, run, server
from .table import NotApplicable

#: Cases that run beside each other; more would measure the machine's patience.
PARALLEL = 2


@dataclass(frozen=True)
class Pairing:
    client: object
    server: object
    tls: bool

    @property
    def title(self):
        return f"{self.client.name} → {self.server.name}, {'TLS' if self.tls else 'h2c'}"


def pairings(ours, foreign):
    """Ours with itself and each foreign one, both ways."""
    pairs = [(ours, ours)]
    for peer in foreign:
        pairs += [(peer, ours), (ours, peer)]
    return [Pairing(client, peer, tls) for client, peer in pairs for tls in (False, True)]


def references(foreign):
    """The foreign ones among themselves."""
    return [Pairing(client, peer, tls) for client in foreign for peer in foreign for tls in (False, True)]


def play(pairings, table, logs: Path, why_not=cases.why_not):
    """One server for each program and security; all cases of a pairing against it, but those with a reason not to."""
    with ExitStack() as stack:
        ports = {}
        for pairing in pairings:
            key = (pairing.server.name, pairing.tls)
            if key not in ports:
                ports[key] = stack.enter_context(running(pairing, logs))
        games = list(product(pairings, cases.CASES))
        with ThreadPoolExecutor(PARALLEL) as players:
            results = [
                players.submit(play_one, case, pairing, ports[pairing.server.name, pairing.tls], why_not)
                for pairing, case in games]
            for (pairing, case), result in zip(games, results):
                table.enter(case, pairing.title, result.result())


@contextmanager
def running(pairing, logs):
    """A pairing's server; yields its port."""
    port = free_port()
    command = pairing.server.server(port, pairing.tls)
    log = logs / f"{pairing.server.name}-server-{'tls' if pairing.tls else 'h2c'}.txt"
    with server(command.arguments, port, log, command.environment, command.directory):
        yield port


def play_one(case, pairing, port, why_not):
    if reason := why_not(case, pairing.client.name, pairing.server.name):
        return NotApplicable(reason)
    command = pairing.client.client(port, pairing.tls, case)
    arguments = [*command.arguments, *cases.FLAGS.get(case, [])]
    seconds = cases.SECONDS.get(case, cases.DEFAULT_SECONDS)
    for _ in range(cases.TRIES.get((pairing.client.name, case), 1)):
        outcome = run(arguments, seconds, command.environment, command.directory)
        if outcome.passed:
            break
    return outcome
