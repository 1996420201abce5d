"""A proxy of Go modules on a loopback address, which serves Debian's packages instead of a network's.

It has the sources of each package with a go.mod, under whatever version is requested. Other modules stand in the graph of requirements alone,
because no package of theirs is imported. Of those it serves an empty go.mod.
"""

import http.server
import io
import json
import re
import threading
import zipfile
from urllib.parse import unquote

_REQUEST = re.compile(r"/(?P<module>[^@]+)/@v/(?P<version>[^/]+)\.(?P<kind>info|mod|zip)")


class ModuleProxy:
    def __init__(self, gopath):
        directories = [file.parent for file in sorted((gopath / "src").rglob("go.mod"))]
        self._directories = {str(directory.relative_to(gopath / "src")): directory for directory in directories}
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = proxy.answer(unquote(self.path))
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, path):
        """None if there is no such file."""
        requested = _REQUEST.fullmatch(path)
        if requested is None:
            return None
        # Go writes a capital letter as "!" and the small one.
        module = re.sub("!([a-z])", lambda found: found[1].upper(), requested["module"])
        directory, version = self._directories.get(module), requested["version"]
        if requested["kind"] == "info":
            return json.dumps({"Version": version}).encode()
        if requested["kind"] == "mod":
            return f"module {module}\n".encode() if directory is None else (directory / "go.mod").read_bytes()
        return None if directory is None else _packed(directory, f"{module}@{version}")

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def _packed(directory, prefix):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                archive.write(path, f"{prefix}/{path.relative_to(directory)}")
    return packed.getvalue()
