"""A way to a server that fails as networks do: it delays, drips, cuts, loses answers, or says nothing at all."""

import asyncio
import socket
import struct
import threading
from pathlib import Path

_CHUNK = 1 << 16
_ESTABLISHED = "01"
#: Of a way that drips: some 1 kB/s, a byte that is on its way at a time.
_DRIP_BYTES = 16
_DRIP_SECONDS = 0.016
#: How often a way that stands still looks whether it still does.
_LOOK_SECONDS = 0.01

OPEN = "open"
#: What the client sends arrives; what the server answers does not.
LOSES_ANSWERS = "loses answers"
#: Nothing arrives, on old connections and on new ones, and nobody is told: half-open.
BLACK_HOLE = "black hole"
#: A few bytes at a time.
DRIPS = "drips"
#: New connections are reset. `cut` does it to the old ones.
REFUSES = "refuses"


class Proxy:
    """Listens on a loopback port of its own; connections go to the target for as long as they last."""

    def __init__(self, host, port):
        self._target = host, port
        self.mode = OPEN
        #: On each piece in each direction.
        self.delay_seconds = 0
        #: How many connections are reset that come next.
        self.refusals = 0
        #: The most connections that the client had at a time.
        self.peak = 0
        self._writers = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._call(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.host, self.port = self._server.sockets[0].getsockname()
        self.address = f"{self.host}:{self.port}"

    def cut(self):
        """Resets every connection, at both ends."""
        self._call(self._cut())

    def close(self):
        # Connections on a way that stands still would wait for its end.
        self.mode = OPEN
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _close(self):
        """On the loop's own thread: connections end there at the same time."""
        self._server.close()
        await self._cut()
        connections = asyncio.all_tasks() - {asyncio.current_task()}
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _cut(self):
        for writer in list(self._writers):
            _reset(writer)

    async def _accept(self, reader, writer):
        if self.mode == REFUSES or self.refusals > 0:
            self.refusals = max(0, self.refusals - 1)
            return _reset(writer)
        try:
            server_reader, server_writer = await asyncio.open_connection(*self._target)
        except OSError:
            return _reset(writer)
        ends = {writer, server_writer}
        self._writers |= ends
        self.peak = max(self.peak, self._client_connections())
        await asyncio.gather(
            self._pass(reader, server_writer, is_answer=False), self._pass(server_reader, writer, is_answer=True)
        )
        self._writers -= ends

    def _client_connections(self):
        """Those that it has not given up: on a way that stands still nobody tells us (proc(5), /proc/net/tcp)."""
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        ours = f":{self.port:04X}"
        return sum(row[2].endswith(ours) and row[3] == _ESTABLISHED for row in rows)

    async def _pass(self, reader, writer, *, is_answer):
        """Until the end of it."""
        try:
            while content := await reader.read(_CHUNK):
                if self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)
                await self._forward(content, writer, is_answer)
        except OSError:
            pass
        finally:
            # Also what comes from the other side ends then.
            while self.mode == BLACK_HOLE:
                await asyncio.sleep(_LOOK_SECONDS)
            writer.close()

    async def _forward(self, content, writer, is_answer):
        while content:
            if self.mode == BLACK_HOLE or (self.mode == LOSES_ANSWERS and is_answer):
                # What came is gone, and what comes later on this connection would make no sense.
                while not writer.is_closing():
                    await asyncio.sleep(_LOOK_SECONDS)
                raise ConnectionResetError
            count = _DRIP_BYTES if self.mode == DRIPS else len(content)
            writer.write(content[:count])
            await writer.drain()
            content = content[count:]
            if self.mode == DRIPS:
                await asyncio.sleep(_DRIP_SECONDS)


def _reset(writer):
    """RST, not FIN."""
    ours = writer.get_extra_info("socket")
    if ours is not None and ours.fileno() >= 0:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
