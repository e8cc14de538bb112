#!/usr/bin/env bash
# No constant, type or function is defined in two sources that a build may compile
# together, each in an unnamed namespace. How many sources are compiled at once
# depends on the build, so the compiler of one build does not notice. Of functions,
# those whose heads are alike in their first line. Not found: such a name that is
# also one of the other source's named namespace.
# usage: check_together.sh FILE, whose lines are a target and its sources
set -euo pipefail
awk '
  function note(name) {
    if (name in where && where[name] != FILENAME) {
      printf "%s: \"%s\" is defined in %s and %s\n", target, name, where[name], FILENAME
      twice = 1
    }
    where[name] = FILENAME
  }
  BEGIN {
    list = ARGV[1]
    while ((getline line <list) > 0) {
      count = split(line, words, " ")
      target = words[1]
      delete where
      for (i = 2; i <= count; ++i) {
        FILENAME = words[i]
        unnamed = 0
        while ((state = (getline line <FILENAME)) > 0) {
          if (line ~ /^namespace \{/) unnamed = 1
          if (line ~ /^\}  \/\/ namespace$/) unnamed = 0
          if (!unnamed) continue
          if (match(line, /^(inline |static )?const(expr)? [^=({]*[ \[]?k[A-Z][A-Za-z0-9]*/)) {
            name = substr(line, RSTART, RLENGTH)
            sub(/.* [*]?/, "", name)
            note(name)
          } else if (match(line, /^(class|struct|union|enum( class)?) [A-Za-z0-9_]+/) && line !~ /;$/) {
            name = substr(line, RSTART, RLENGTH)
            sub(/.* /, "", name)
            note(name)
          } else if (line ~ /^[A-Za-z].* [*&]?[A-Z][A-Za-z0-9]*\(.*[^;]$/) {
            note(line)
          }
        }
        if (state < 0) { print FILENAME " cannot be read"; exit 1 }
        close(FILENAME)
      }
      ++targets
    }
    if (twice) exit 1
    if (targets < 1) { print "no target is listed in " list; exit 1 }
    print targets " targets whose sources may be compiled together"
  }' "$1"
