"""Each command that a document or a man page's example shows exists, and has the options that it is shown with.

Of ./dev test and ./dev bench, the test or the benchmark that is named. usage: documents_test.py SOURCE_DIRECTORY BUILD_DIRECTORY STORE ROCKSYNC
"""

import pathlib
import re
import subprocess
import sys

SOURCE, BUILD, STORE, ROCKSYNC = pathlib.Path(sys.argv[1]), *sys.argv[2:]
# Its own words may name what is not there any more.
HISTORY = "docs/journal/"


def options_of(*command):
    text = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
    # Words of CLI11 that no reader of a manual knows.
    assert not re.search(r"\bU?INT\b|REQUIRED|(Needs|Excludes):", text), text
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) | {"--help"}


def subcommands():
    text = subprocess.run([ROCKSYNC, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
    return re.findall(r"^  ([a-z]+) ", text.split("Subcommands:")[1], re.MULTILINE)


def dev_commands():
    text = subprocess.run([SOURCE / "dev", "help"], capture_output=True, text=True, check=True, timeout=60).stdout
    return set(re.findall(r"^  ([a-z]+)\b", text, re.MULTILINE))


def tests():
    text = subprocess.run(["ctest", "--test-dir", BUILD, "-N"], capture_output=True, text=True, check=True, timeout=60).stdout
    return re.findall(r"^ *Test +#\d+: (\S+)", text, re.MULTILINE)


def benches():
    return {name for path in SOURCE.glob("tests/bench/*/CMakeLists.txt")
            for name in re.findall(r"^rocksync_program\(bench_(\w+)", path.read_text(), re.MULTILINE)}


def named_by_dev(words):
    """What a command of ./dev names, and whether that is there: None if it names nothing."""
    if words[:2] == ["test", "-R"]:
        names = " ".join(words[2:3]).strip("'\"")
        return names, bool(names) and any(re.search(names, test) for test in tests())
    if words[:1] == ["bench"] and len(words) > 1 and re.fullmatch("[a-z]+", words[1]):
        return words[1], words[1] in benches()
    return None


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
    suites = {suite for path in SOURCE.glob("tests/**/*_test.cc")
              for suite in re.findall(r"^TEST(?:_[FP])?\((\w+),", path.read_text(), re.MULTILINE)}
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
                    named = named_by_dev(words)
                    if named and not named[1]:
                        wrong.append(f"{path}: ./dev {words[0]} knows no {named[0]}: {line.strip()}")
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
        for suite in re.findall(r"--gtest_filter='?(\w+)", text):
            if suite not in suites:
                wrong.append(f"{path}: there are no tests {suite}")
    print("\n".join(wrong))
    print(f"{count} options looked at")
    # As many as there are at least: this test must not look at nothing.
    assert count > 100
    return 1 if wrong else 0


sys.exit(main())
