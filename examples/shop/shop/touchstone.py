"""Calls the service as JSON over HTTP. With TLS and another address, this is what a backend in production does."""

import http.client
import json
from urllib.parse import urlsplit

SECONDS = 10


class Touchstone:
    def __init__(self, url, key):
        """`url`: the service's public HTTP address. `key`: the caller's, from `touchstone callers new-key`."""
        self._url, self._key = urlsplit(url), key

    def post(self, service, method, body, languages=None):
        """Returns the HTTP status and the JSON that the service answered, which may be an error. `languages`: the person's."""
        kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._url.netloc, timeout=SECONDS)
        headers = {"content-type": "application/json", "authorization": f"Bearer {self._key}"}
        if languages:
            headers["accept-language"] = languages
        try:
            connection.request("POST", f"/touchstone.v1.{service}/{method}", json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as failure:
            return 503, {"code": "unavailable", "message": f"Touchstone does not answer: {failure}"}
        finally:
            connection.close()

    def call(self, service, method, body):
        """The answer of a call that should succeed."""
        status, answer = self.post(service, method, {"applicationId": "shop", **body})
        if status != 200:
            raise TouchstoneError(answer)
        return answer


class TouchstoneError(Exception):
    """The service refused a call, or did not answer."""
