"""SLURM on one machine: munge, a controller and node daemons, all of the test's own user and on loopback only."""

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import psutil
from toy_project import write_program

from fairlab.suite.cluster import PROGRAM

NODES = ("n1", "n2", "n3")
COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol")
CONFIGURATION = """
ClusterName=toy
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdSpoolDir={folder}/spool-%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=2
JobAcctGatherParams=OverMemoryKill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=2,batch_sched_delay=1
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
SlurmctldTimeout=10
SlurmdTimeout=15
KillWait=2
InactiveLimit=0
MinJobAge=300
ReturnToService=2
MpiDefault=none
SwitchType=switch/none
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    """Return the programs that tests of a cluster need and that are not here."""
    os.environ["PATH"] = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    return [name for name in (*COMMANDS, os.environ.get(PROGRAM, "snakemake")) if shutil.which(name) is None]


class Cluster:
    """A controller and node daemons with two processors each.

    Parameters
    ----------
    folder : Path
        For their states and logs; its path must be short, since the names of sockets must be.
    """

    def __init__(self, folder: Path):
        self.folder, self._daemons = folder, []
        controller, *ports = _free_ports(1 + len(NODES))
        nodes = [
            f"NodeName={name} NodeHostname={socket.gethostname()} NodeAddr=127.0.0.1 Port={port} "
            "CPUs=2 RealMemory=16000 State=UNKNOWN"
            for name, port in zip(NODES, ports, strict=True)
        ]
        (folder / "state").mkdir(parents=True)
        self.configuration = folder / "slurm.conf"
        self.configuration.write_text(
            CONFIGURATION.format(
                host=socket.gethostname(),
                port=controller,
                user=getpass.getuser(),
                folder=folder,
                nodes="\n".join(nodes),
            )
        )
        self.environment = os.environ | {"SLURM_CONF": str(self.configuration)}
        # Snakemake hides the variable from srun, which would look in the system's default place.
        script = f'SLURM_CONF={self.configuration} exec {shutil.which("srun")} "$@"'
        srun = write_program(folder / "bin" / "srun", script)
        self.environment["PATH"] = f"{srun.parent}:{self.environment['PATH']}"

    def __enter__(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        files = {
            "key-file": key,
            "socket": self.folder / "munge.socket",
            "pid-file": self.folder / "munge.pid",
            "seed-file": self.folder / "munge.seed",
            "log-file": self.folder / "munge.log",
        }
        arguments = [f"--{name}={file}" for name, file in files.items()]
        self._start("munged", "munged", "--foreground", "--force", *arguments)
        _until(files["socket"].exists)
        self._start("slurmctld", "slurmctld", "-D")
        _until(lambda: "UP" in self.ask("scontrol", "ping"))
        for name in NODES:
            self._start(name, "slurmd", "-D", "-N", name)
        _until(lambda: self.ask("sinfo", "-h", "-o", "%t %D").split() == ["idle", str(len(NODES))])
        return self

    def __exit__(self, *_):
        self.ask("scancel", "--user", getpass.getuser())
        for daemon in reversed(self._daemons):
            daemon.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(10)
        for process in psutil.process_iter():  # daemons that have not ended, and processes of the nodes
            with contextlib.suppress(psutil.Error):
                own = process.environ().get("SLURM_CONF") == str(self.configuration)
                if own and process.pid != os.getpid():
                    process.kill()

    def ask(self, *command: str) -> str:
        """Return what one of SLURM's commands prints."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, timeout=60)
        return done.stdout + done.stderr

    def _start(self, name, *command):
        with (self.folder / f"{name}.out").open("ab") as log:
            self._daemons.append(
                subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, start_new_session=True)
            )


def _free_ports(number):
    with contextlib.ExitStack() as held:  # all at once, so that they differ
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [one.getsockname()[1] for one in sockets]


def _until(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("SLURM did not start; see its logs")
        time.sleep(0.2)
