#!/usr/bin/env python3
"""Runs scenarios/sweep-array.sbatch on a Slurm of its own, kills a task in its middle, and requeues it.

usage: slurm_test.py MIRFAK SOURCE
Starts munged, slurmctld and slurmd on the loopback, in a folder of their own, and ends them. The merged table has to be
that of one process, to the byte, and the killed task has to go on where it stood. Exit status 77: Slurm and munge are
not installed, or this is not root, as which slurmd runs.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "scancel", "scontrol"]

SWEEP = """
scenario: {source}/scenarios/gpt3-175b-a100.yaml
axes:
  - grid:
      training.global_batch: {{from: 1536, to: 30720, step: 1536}}
      strategy.recompute: [none, full]
      strategy.virtual_pipeline: [1, 2, 4, 8]
"""

# Nodes are named by their host; all talk over the loopback. What is requeued waits until its credentials have expired.
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
SlurmctldPort={ctld_port}
SlurmdPort={slurmd_port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ReturnToService=2
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def until(what, condition, seconds=120):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise RuntimeError(f"waited {seconds} s for {what}")


@contextlib.contextmanager
def daemon(folder, name, *options):
    """A program in the foreground, which is ended behind its use."""
    with open(folder / f"{name}.output", "wb") as output:
        process = subprocess.Popen([name, *options], stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def slurm(folder):
    """A cluster of this machine; commands find it by SLURM_CONF."""
    folder.chmod(0o755)  # munged wants its socket in reach of all
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    host = socket.gethostname().split(".")[0]
    # Two tasks at a time, however many cores there are.
    (folder / "slurm.conf").write_text(CONFIGURATION.format(
        host=host, folder=folder, cpus=min(2, os.cpu_count() or 1), ctld_port=free_port(), slurmd_port=free_port()))
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    munge = ["--foreground", f"--key-file={folder}/munge.key", f"--socket={folder}/munge.socket",
             f"--pid-file={folder}/munge.pid", f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed"]
    with daemon(folder, "munged", *munge):
        until("munged", (folder / "munge.socket").exists)
        with daemon(folder, "slurmctld", "-D", "-i"), daemon(folder, "slurmd", "-D", "-N", host):
            until("a node that is idle", lambda: is_idle(host))
            try:
                yield
            finally:  # what runs would outlive slurmd
                subprocess.run(["scancel", "--user=root"])
                until("the end of all tasks", lambda: is_idle(host), 60)


def scontrol(*arguments):
    return subprocess.run(["scontrol", *arguments], capture_output=True, text=True).stdout


def is_idle(host):
    return "State=IDLE" in scontrol("show", "node", host).replace("+", " ")


def state_of(task):
    said = scontrol("show", "job", "--oneliner", task)
    return said.split("JobState=")[1].split()[0] if "JobState=" in said else ""


def processes_with(word):
    """Yields the processes of programs that were started with this argument."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if word.encode() in entry.joinpath("cmdline").read_bytes().split(b"\0"):
                yield int(entry.name)


def kill_in_the_middle(job, folder, shard):
    """kill -9 for the program of a task that has finished points, but not all; then the task is requeued."""
    table = folder / f"shard-{shard}.h5"
    journal = folder / f"shard-{shard}.h5.part"
    until("a journal with points", lambda: journal.exists() and journal.stat().st_size > 4000)
    victims = list(processes_with(str(table)))
    if not victims:
        raise RuntimeError("the task ended before it could be killed")
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    until("the killed task to fail", lambda: state_of(f"{job}_{shard}") == "FAILED")
    if table.exists():
        raise RuntimeError("the task had its table already")
    kept = journal.stat().st_size
    # Requeues the task as an administrator does, or Slurm itself for a node that failed.
    subprocess.run(["scontrol", "requeue", f"{job}_{shard}"], check=True)
    return kept


def run(mirfak, source, folder):
    sweep, results = folder / "sweep.yaml", folder / "results"
    sweep.write_text(SWEEP.format(source=source))
    os.environ["MIRFAK"] = mirfak
    os.environ["MIRFAK_DATA"] = source
    shards = 3
    submitted = subprocess.run(
        ["sbatch", "--parsable", f"--array=1-{shards}", "--cpus-per-task=1", f"--output={folder}/task-%a.log",
         f"{source}/scenarios/sweep-array.sbatch", sweep, results],
        check=True, capture_output=True, text=True, cwd=folder)
    job = submitted.stdout.strip()
    kept = kill_in_the_middle(job, results, 2)
    until("all tasks", lambda: all(state_of(f"{job}_{shard}") == "COMPLETED" for shard in range(1, shards + 1)), 300)
    tables = sorted(results.glob("shard-*.h5"))
    subprocess.run([mirfak, "sweep", "--merge", results / "all.h5", *tables], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([mirfak, "sweep", sweep, "--out", folder / "alone.h5"], check=True, stdout=subprocess.DEVNULL)
    if (results / "all.h5").read_bytes() != (folder / "alone.h5").read_bytes():
        raise RuntimeError("the table of the tasks is not that of one process")
    print(f"{len(tables)} tasks, one killed with {kept} bytes of finished points: the table is that of one process")


def main(mirfak, source):
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        skip(f"not installed: {', '.join(missing)} (Debian: slurmctld slurmd slurm-client munge)")
    if os.geteuid() != 0:
        skip("slurmd runs as root")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mirfak-slurm-"))
    try:
        with slurm(folder):
            run(mirfak, source, folder)
    except BaseException:
        for log in sorted([*folder.glob("*.log"), *folder.glob("*.output")]):
            print(f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}")
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    main(*sys.argv[1:])
