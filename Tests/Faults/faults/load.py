"""Many customers at once."""

import random
import threading
import time

import grpc

from support.caller import from_threads, new_caller

from .customer import Customer
from .watching import PATIENCE_SECONDS

APPLICATION = "shop"
#: As many as two cores keep busy, with the service beside them.
CUSTOMERS = 12
#: They share connections, as the customers of one calling service do.
CONNECTIONS = 4
#: Much longer than what is waited for takes where the machine is not very busy.
ACTS_SECONDS = 5


class Load:
    """Customers, who stay from one run of the service to the next."""

    def __init__(self, seed, customers=CUSTOMERS):
        self._random = random.Random(seed)
        self.customers = [self._new_customer() for _ in range(customers)]

    def _new_customer(self):
        return Customer(random.Random(self._random.random()))

    def run(self, server):
        """Each does one thing after another, until it is left without an answer."""
        return Run(server, self.customers)

    def check(self, server):
        """Each finds everything as it was answered."""
        callers = _callers(server)
        from_threads(
            len(self.customers), lambda index: self.customers[index].check(callers[index % CONNECTIONS])
        )

    def give_up_retries(self):
        """What was begun has expired, or was begun under other policies."""
        for customer in self.customers:
            if customer.doubt:
                customer.doubt.retry = None

    def renew(self, share=0.25):
        """New ones come in the place of some: with a profile that is not known yet, and no history."""
        for index in range(len(self.customers)):
            if self._random.random() < share:
                self.customers[index] = self._new_customer()


class Run:
    """While it lasts, something may be done to the service. Ends when everybody was refused, or when told."""

    def __init__(self, server, customers):
        self._is_ending = threading.Event()
        self._changed = threading.Condition()
        self._failures = []
        self.customers = len(customers)
        self.done = 0
        self.errors = []
        self._callers = _callers(server)
        self._people = customers
        self._threads = [self._start(index) for index in range(len(customers))]

    def _start(self, index):
        arguments = (self._people[index], self._callers[index % CONNECTIONS])
        thread = threading.Thread(target=self._work, args=arguments, daemon=True)
        thread.start()
        return thread

    def resume(self):
        """Whoever was refused something finds out what became of it, and goes on."""
        for index, thread in enumerate(self._threads):
            if not thread.is_alive():
                self._threads[index] = self._start(index)

    def _work(self, customer, caller):
        try:
            # Also where the last thing was settled, but not all of it learnt.
            customer.settle(caller)
            while not self._is_ending.is_set():
                customer.act(caller)
                with self._changed:
                    self.done += 1
                    self._changed.notify_all()
        except grpc.RpcError as error:
            self.errors.append(error)
        except BaseException as failure:
            self._failures.append(failure)

    def await_acts(self, count):
        """Waits until they have done so many things; on a machine that has no time for them, not for ever."""
        with self._changed:
            self._changed.wait_for(lambda: self.done >= count, ACTS_SECONDS)

    def await_refusals(self):
        """Waits until everybody was refused something."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        for thread in self._threads:
            thread.join(max(0, deadline - time.monotonic()))
        self.end()

    def end(self):
        """Waits for everybody's last call."""
        self._is_ending.set()
        for thread in self._threads:
            thread.join()
        if self._failures:
            raise self._failures[0]


def _callers(server):
    return [new_caller(server, APPLICATION) for _ in range(CONNECTIONS)]
