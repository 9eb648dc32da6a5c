"""A private PostgreSQL server for benchmarks and tests, on a socket in a folder, if its programs are installed."""

import getpass
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

FOUND = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
INITDB = shutil.which("initdb") or (str(FOUND[-1]) if FOUND else None)
MISSING = None if INITDB else "PostgreSQL is not installed: no initdb on the path or in /usr/lib/postgresql"


class Server:
    """A server whose data is in a folder of its own; it never runs as root."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
        self.user = "postgres" if os.getuid() == 0 else getpass.getuser()
        if os.getuid() == 0:
            shutil.chown(self.folder, self.user)
        self.run("initdb", "--auth=trust", f"--username={self.user}", "--encoding=UTF8", "--no-sync")
        self.start()

    def run(self, program, *options):
        """Run one of PostgreSQL's programs on the folder."""
        own = {"user": self.user} if os.getuid() == 0 else {}
        command = [str(Path(INITDB).with_name(program)), f"--pgdata={self.folder}/data", *options]
        subprocess.run(
            command, check=True, capture_output=True, cwd=self.folder, env=os.environ | {"LC_ALL": "C"}, **own
        )

    def start(self):
        """Start it, and wait until it answers."""
        options = f"-k {self.folder} -c listen_addresses="
        self.run("pg_ctl", "start", "--wait", f"--log={self.folder}/log", f"--options={options}")

    def stop(self, mode="fast"):
        """Stop it; "immediate" is as if it had been killed."""
        self.run("pg_ctl", "stop", f"--mode={mode}")

    def url(self, name="postgres"):
        """Return the address of a database."""
        return f"postgresql://{self.user}@/{name}?host={self.folder}"

    def remove(self):
        """Stop it and delete its folder."""
        self.stop("immediate")
        shutil.rmtree(self.folder)
