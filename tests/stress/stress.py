#!/usr/bin/env python3
"""RocksDB's own crash script and tester on replicated databases, see docs/testing.md.

The script, tools/db_crashtest.py of the RocksDB at hand, runs db_stress again and
again, kills it, and lets it verify its data after each start. This program checks
index and second replica between the runs, and tells what was done.
"""
import argparse
import os
import random
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile

# The arguments of db_stress that replication cannot live with, or that make the test
# longer than it is worth, and why. Those that a version does not know are left out.
ARGUMENTS = {
    "disable_wal": (0, "writes without the log are refused"),
    "use_put_entity_one_in": (0, "wide-column entities are refused"),
    "use_timed_put_one_in": (0, "TimedPut is refused"),
    "ingest_external_file_one_in": (0, "ingested files are refused"),
    "ingest_wbwi_one_in": (0, "IngestWriteBatchWithIndex is refused"),
    "enable_compaction_filter": (0, "compaction filters that drop pairs are refused"),
    "use_write_buffer_manager": (0, "one that stalls is refused together with pipelined writes"),
    "compression_manager": ("none", "a plain reader does not know db_stress's own compressors"),
    "remote_compaction_worker_threads": (0, "db_stress's workers know its own families, and not the index"),
    "use_udi_as_primary_index": (0, "an options file does not name such an index, without which the check reads no table"),
    "enable_blob_direct_write": (0, "refused, as plain RocksDB 11.9 was seen to lose values with it"),
    "block_align": (0, "SetOptions refuses block sizes that do not go with it, as Open does; db_stress draws such"),
    "sync_fault_injection": (0, "db_stress replays a trace of its own writes, in which the index's are not expected"),
    "manual_wal_flush_one_in": (0, "as sync_fault_injection"),
    "max_key": (100000, "25 000 000 take longer to verify than a run lasts"),
    "threads": (8, "32 on two cores"),
}
# What db_stress itself takes only beside a RocksDB that was built with assertions.
ARGUMENTS_OF_ASSERTIONS = ["read_fault_one_in", "metadata_read_fault_one_in", "open_read_fault_one_in",
                           "open_metadata_read_fault_one_in"]

# What the crash script is run with, in turn. The white box dies at points within RocksDB,
# which only one that was built with assertions has.
MODES = [
    ["blackbox"],
    ["blackbox", "--simple"],
    ["whitebox"],
    ["blackbox", "--cf_consistency"],
    ["whitebox", "--simple"],
]


class Script:
    """The crash script in this process. Before it starts db_stress, and before it deletes
    a database, index and second replica are checked."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.script = options.script
        self.db_stress = options.db_stress
        self.seed = options.seed
        self.plant = options.plant
        self.remove = shutil.rmtree
        self.popen = subprocess.Popen

    def check(self, directory: str) -> None:
        if not os.path.exists(os.path.join(directory, "CURRENT")):
            return
        if self.plant == "drop-pair" and self.popen([self.db_stress, "--drop", directory]).wait() != 0:
            sys.exit(f"the fault could not be planted in {directory}")
        process = self.popen([self.db_stress, "--check", directory])
        if process.wait() != 0:
            sys.exit(f"{directory} did not pass: exit code {process.returncode}")

    def check_and_remove(self, path: str, *arguments: object, **named: object) -> None:
        self.check(path)
        self.remove(path, *arguments, **named)

    def start(self, command: "list[str]", *arguments: object, **named: object) -> subprocess.Popen:
        if not command or command[0] != self.db_stress:
            return self.popen(command, *arguments, **named)
        process = self.popen(self.prepared(command), *arguments, **named)
        # Newer scripts send SIGTERM first, upon which db_stress tidies up.
        process.terminate = process.kill
        return process

    def prepared(self, command: "list[str]") -> "list[str]":
        flags = dict(flag[2:].split("=", 1) for flag in command[1:] if "=" in flag)
        self.check(flags["db"])
        if flags.get("destroy_db_initially") in ("1", "True", "true"):
            # What the second replica holds would come back.
            self.remove(os.path.join(flags["db"], ".second"), True)
        if flags.get("compaction_style") == "2":
            # The script asks for it whatever its own arguments say.
            command = [*command, "--compaction_style=0"]
        return command

    def run(self, arguments: "list[str]") -> None:
        shutil.rmtree = self.check_and_remove
        subprocess.Popen = self.start
        random.seed(self.seed)
        sys.argv = [self.script, *arguments]
        runpy.run_path(self.script, run_name="__main__")


class Phase:
    """One mode of the crash script for some minutes."""

    def __init__(self, options: argparse.Namespace, number: int, seconds: float, root: str) -> None:
        self.mode = options.modes[number % len(options.modes)]
        self.seed = options.seed + number
        self.debug_level = "1" if options.assertions else "0"  # how the script is told
        self.log = os.path.join(root, f"{number}_{'_'.join(self.mode).replace('--', '')}.log")
        self.ledger = self.log.replace(".log", ".ledger")
        self.directory = os.path.join(root, str(number))
        os.mkdir(self.directory)
        arguments = [*self.mode, f"--stress_cmd={options.db_stress}", f"--duration={int(seconds)}"]
        if self.mode[0] == "blackbox":
            arguments.append(f"--interval={options.interval}")
        else:
            # A run of the white box ends by itself: at a point where it dies, or here.
            arguments += ["--ops_per_thread=2000", "--random_kill_odd=88888", "--reopen=3"]
        arguments += [f"--{name}={value}" for name, value in options.arguments.items()]
        self.command = [sys.executable, "-B", os.path.abspath(__file__), "--script", options.script,
                        "--db-stress", options.db_stress, "--seed", str(self.seed), "--plant", options.plant,
                        "--run", *arguments]

    def run(self, max_seconds: float) -> bool:
        """True if the script ended well."""
        environment = dict(os.environ, TEST_TMPDIR=self.directory, ROCKSYNC_STRESS_LEDGER=self.ledger,
                           DEBUG_LEVEL=self.debug_level)
        with open(self.log, "w", encoding="utf-8") as log:
            process = subprocess.Popen(self.command, stdout=log, stderr=subprocess.STDOUT, env=environment,
                                       start_new_session=True)
            try:
                return process.wait(timeout=max_seconds) == 0
            except subprocess.TimeoutExpired:
                print(f"  it did not end within {max_seconds:.0f} s", flush=True)
                return False
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def figures(self) -> "dict[str, int]":
        with open(self.log, encoding="utf-8", errors="replace") as file:
            log = file.read()
        checks = [line.split() for line in open(self.ledger, encoding="utf-8")] if os.path.exists(self.ledger) else []
        return {
            "kills": len(re.findall(r"^KILLED |^TERMINATED |ended before kill: exitcode=-", log, re.M)),
            "runs": len(re.findall(r"^Running db_stress with pid", log, re.M)),
            "checks": len(checks),
            "violations": sum(1 for check in checks if check[0] != "equal"),
            "pairs": max((int(check[1]) for check in checks), default=0),
            "tombstones": max((int(check[2]) for check in checks), default=0),
        }


def known_arguments(script: str, assertions: bool) -> "dict[str, int]":
    arguments = {name: value for name, (value, _) in ARGUMENTS.items()}
    if not assertions:
        arguments.update(dict.fromkeys(ARGUMENTS_OF_ASSERTIONS, 0))
    with open(script, encoding="utf-8") as file:
        text = file.read()
    return {name: value for name, value in arguments.items() if name == "threads" or f'"{name}"' in text}


def report(phase: Phase, passed: bool) -> bool:
    figures = phase.figures()
    # A phase that checked nothing has not passed.
    passed = passed and figures["violations"] == 0 and figures["pairs"] > 0
    print(f"{'passed' if passed else 'FAILED'}: {' '.join(phase.mode)}: {figures['runs']} runs, "
          f"{figures['kills']} killed; {figures['checks']} checks of index and second replica, "
          f"of up to {figures['pairs']} pairs and {figures['tombstones']} tombstones; seed {phase.seed}", flush=True)
    if not passed:
        with open(phase.log, encoding="utf-8", errors="replace") as file:
            print("".join(line for line in file.readlines()[-60:] if len(line) < 1000))
        print(f"its log is {phase.log}, its database {phase.directory}", flush=True)
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev stress", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5, help="all modes together (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the crash script's choices (%(default)s); newer scripts draw their own, and log them")
    parser.add_argument("--interval", type=int, default=15, help="seconds from a start to its kill, in the black box (%(default)s)")
    parser.add_argument("--plant", choices=["none", "drop-pair"], default="none",
                        help="a fault, to see that it is noticed")
    parser.add_argument("--script", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--db-stress", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--run", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        Script(options).run(options.run)
        return 0
    if not 0 < options.minutes <= 24 * 60 or options.interval < 5:
        parser.error("--minutes is above 0 and at most a day, --interval at least 5 seconds")

    answer = subprocess.run([options.db_stress, "--assertions"], check=False).returncode
    if answer not in (0, 1):
        parser.error(f"{options.db_stress} ended with {answer}")
    options.assertions = answer == 0
    options.modes = [mode for mode in MODES if options.assertions or mode[0] == "blackbox"]
    options.arguments = known_arguments(options.script, options.assertions)
    root = tempfile.mkdtemp(prefix="rocksync_stress_")
    seconds = max(3 * options.interval, options.minutes * 60 / len(options.modes))
    phases = max(1, round(options.minutes * 60 / seconds))
    failed = 0
    for number in range(phases):
        phase = Phase(options, number, seconds, root)
        print(f"{number + 1} of {phases}: {' '.join(phase.mode)} for {seconds:.0f} s", flush=True)
        passed = report(phase, phase.run(seconds + 900))
        failed += not passed
        if passed:
            shutil.rmtree(phase.directory)
    if failed:
        print(f"{failed} of {phases} failed")
        return 1
    shutil.rmtree(root)
    print("no difference was found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
