"""Each command that a document or a man page's example shows exists, and has the options that it is shown with.

usage: documents_test.py SOURCE_DIRECTORY STORE ROCKSYNC
"""

import pathlib
import re
import subprocess
import sys

SOURCE, STORE, ROCKSYNC = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
# Its own words may name what is not there any more.
HISTORY = "docs/journal/"


def options_of(*command):
    text = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) | {"--help"}


def subcommands():
    text = subprocess.run([ROCKSYNC, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
    return re.findall(r"^  ([a-z]+) ", text.split("Subcommands:")[1], re.MULTILINE)


def dev_commands():
    text = subprocess.run([SOURCE / "dev", "help"], capture_output=True, text=True, check=True, timeout=60).stdout
    return set(re.findall(r"^  ([a-z]+)\b", text, re.MULTILINE))


def shown(text):
    """What a reader may type: lines of blocks, with those that go on, and words in `backquotes`."""
    text = text.replace("\\\n", " ")
    blocks = "".join(re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    rest = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    indented = re.findall(r"^(?: {4}|\t)\s*(.+)$", rest, re.MULTILINE)
    # A command in `backquotes` may be broken in two lines.
    spans = [span.replace("\n", " ") for span in re.findall(r"`([^`]+)`", rest)]
    return [*blocks.splitlines(), *indented, *spans]


def commands(line):
    """(program, the words behind it) of each command of the line."""
    for part in re.split(r"\s#\s|[|;&]+|\$\(|\)\"?", line):
        words = part.split()
        # The last one: `runuser -u rocksync -- rocksync id DIR`.
        for i in reversed(range(len(words))):
            if words[i] in ("rocksync", "rocksync-store", "./dev"):
                yield words[i], words[i + 1:]
                break


def main():
    known = {name: options_of(ROCKSYNC, name) for name in subcommands()}
    general = options_of(ROCKSYNC)
    store = options_of(STORE)
    developers = dev_commands()
    wrong, count = [], 0
    documents = [path for path in sorted(SOURCE.glob("**/*.md"))
                 if not str(path.relative_to(SOURCE)).startswith(("build/", HISTORY))]
    examples = sorted((SOURCE / "packaging/man/examples").glob("*.sh"))
    assert len(documents) > 10 and len(examples) > 10
    for path in [*documents, *examples]:
        text = path.read_text()
        for line in shown(text) if path.suffix == ".md" else text.replace("\\\n", " ").splitlines():
            for program, words in commands(line):
                options = {match.group() for word in words if (match := re.match(r"--[a-z][a-z-]*", word))}
                if program == "./dev":
                    if words and re.fullmatch("[a-z]+", words[0]) and words[0] not in developers:
                        wrong.append(f"{path}: there is no ./dev {words[0]}: {line.strip()}")
                    continue
                if program == "rocksync-store":
                    there = store
                elif words and words[0] in known:
                    there = known[words[0]]
                elif words and re.fullmatch("[a-z]+", words[0]) and options:
                    wrong.append(f"{path}: there is no command {words[0]}: {line.strip()}")
                    continue
                else:
                    there = general
                count += len(options)
                for option in sorted(options - there):
                    wrong.append(f"{path}: {program} {words[0]} has no {option}: {line.strip()}")
    print("\n".join(wrong))
    print(f"{count} options looked at")
    # As many as there are at least: this test must not look at nothing.
    assert count > 100
    return 1 if wrong else 0


sys.exit(main())
