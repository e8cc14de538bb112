"""What an interactive bash completes: behind HOST:PORT, too, which it breaks at ":".
usage: completion_on_terminal.py SCRIPT, in a directory with `log`"""

import os
import pty
import select
import sys
import time


def completed(typed, expected):
    """Types `typed` and a tab, until `expected` shows, or not within half a minute."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(PS1="ready> ", TERM="dumb", LC_ALL="C")
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    until = time.monotonic() + 30

    def wait(text):
        shown = b""
        while text.encode() not in shown and time.monotonic() < until:
            if select.select([terminal], [], [], 0.1)[0]:
                shown += os.read(terminal, 4096)
        return shown.decode(errors="replace")

    try:
        wait("ready> ")
        os.write(terminal, f"source {sys.argv[1]}\n".encode())
        wait("ready> ")
        os.write(terminal, typed.encode() + b"\t")
        return expected in wait(expected)
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


for line in ("rocksync detach lo", "rocksync clone 127.0.0.1:7401 lo", "rocksync clone --json [::1]:7401 lo",
             "rocksync rescue log --against a:1 --output lo"):
    if not completed(line, line + "g/"):
        sys.exit(f"FAILED: '{line}' and a tab do not become '{line}g/'")
