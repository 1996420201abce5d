"""A primary and its synchronous standby: two servers on one machine."""

from support.postgres import PORT, USER, PostgresServer

STANDBY = "standby"


class Standby(PostgresServer):
    """Copied from a primary, and follows it."""

    def __init__(self, primary):
        self._primary = primary
        super().__init__(fsync=True)

    def _run(self, name, *arguments):
        if name != "initdb":
            return super()._run(name, *arguments)
        way = f"host={self._primary.directory} port={PORT} user={USER} application_name={STANDBY}"
        return super()._run("pg_basebackup", "-d", way, "-R", "-D", self._data, "--checkpoint=fast", "--no-sync")

    def promote(self):
        self._run("pg_ctl", "promote", "--wait", "--silent", "-D", self._data)


class Cluster:
    """No commit is answered before both have it."""

    def __init__(self):
        self.primary = PostgresServer(fsync=True)
        try:
            self.standby = Standby(self.primary)
        except BaseException:
            self.primary.close()
            raise
        self.primary.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{STANDBY}'")
        self.primary.execute("SELECT pg_reload_conf()")
        self.await_synchronous()

    def await_synchronous(self):
        self.primary.await_answer("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", ["1"])

    def uri(self, name):
        """Of both, of which one takes what is written."""
        hosts = f"{self.primary.address}:{PORT},{self.standby.address}:{PORT}"
        return f"postgresql://{USER}@{hosts}/{name}?target_session_attrs=read-write"

    def close(self):
        self.standby.close()
        self.primary.close()
