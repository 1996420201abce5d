"""Apache with mod_auth_openidc, as a resource server: it lets in what the service's published keys verify."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from .addresses import own_host

MODULES = Path("/usr/lib/apache2/modules")
PROGRAM = shutil.which("apache2", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
#: What Debian's packages apache2-bin and libapache2-mod-auth-openidc bring.
IS_INSTALLED = PROGRAM is not None and (MODULES / "mod_auth_openidc.so").exists()

START_SECONDS = 30
#: Of a host of its own.
PORT = 8080

CONFIGURATION = """\
ServerRoot {directory}
ServerName localhost
Listen {host}:{port}
PidFile {directory}/apache.pid
ErrorLog {directory}/error.log
DefaultRuntimeDir {directory}
Mutex file:{directory} default
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authn_core_module {modules}/mod_authn_core.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule authz_user_module {modules}/mod_authz_user.so
LoadModule auth_openidc_module {modules}/mod_auth_openidc.so
StartServers 1
OIDCOAuthVerifyJwksUri {keys}
OIDCCABundlePath {directory}/authority.pem
OIDCOAuthRemoteUserClaim sub
OIDCCryptoPassphrase passphrase
DocumentRoot {directory}/public
<Location />
  AuthType oauth20
  Require claim aud:{audience}
</Location>
"""


@contextlib.contextmanager
def serving(directory, keys, authority, audience):
    """Its address. As a user without rights, if the tests have them. `directory`: one that this user reaches."""
    (directory / "public").mkdir()
    (directory / "public" / "index.txt").write_text("secret\n")
    shutil.copy(authority.file, directory / "authority.pem")
    host = own_host()
    (directory / "apache.conf").write_text(
        CONFIGURATION.format(directory=directory, host=host, port=PORT, modules=MODULES, keys=keys, audience=audience)
    )
    options = {}
    if os.geteuid() == 0:
        shutil.chown(directory, "nobody", "nogroup")
        options = {"user": "nobody", "group": "nogroup", "extra_groups": []}
    process = subprocess.Popen(
        [PROGRAM, "-f", directory / "apache.conf", "-D", "FOREGROUND"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **options,
    )
    try:
        _wait_for(host, process, directory)
        yield f"{host}:{PORT}"
    finally:
        process.terminate()
        process.wait(START_SECONDS)
        process.stdout.close()


def _wait_for(host, process, directory):
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(ConnectionError):
            socket.create_connection((host, PORT), timeout=1).close()
            return
        time.sleep(0.05)
    process.kill()
    log = directory / "error.log"
    raise AssertionError(f"no Apache: {process.stdout.read()!r} {log.read_text() if log.exists() else ''}")
