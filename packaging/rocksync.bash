# Completion of `rocksync` and `rocksync-store` for bash: what their --help says.
# Each package of the two has it, under the name of its program.

_rocksync_words() {  # options, or the names of commands, in a --help
  "$@" --help 2>/dev/null | sed -nE \
    -e 's/^  (-[a-zA-Z],)?(--[a-z-]+).*/\2/p' \
    -e '/^Subcommands:/,$ s/^  ([a-z]+) .*/\1/p'
}

_rocksync_takes_value() {  # the --help, and an option
  grep -qE -e "^  (-[a-zA-Z],)?$2 [A-Z]" <<< "$1"
}

# Whether the argument at the cursor, which is none of an option, may be a
# directory, by what the --help says of it.
_rocksync_is_directory() {  # the --help, and the words before that argument
  local help=$1 number=0 i
  local -a before=("${@:2}") arguments
  for ((i = 0; i < ${#before[@]}; ++i)); do
    if [[ ${before[i]} != --* ]]; then
      ((++number))
    elif [[ ${before[i+1]-} != = ]] && _rocksync_takes_value "$help" "${before[i]}"; then
      ((++i))
    fi
    # --wal-dir=DIR=LOGDIR is five words.
    while [[ ${before[i+1]-} == = ]]; do ((i += 2)); done
  done
  mapfile -t arguments < <(sed -n '/^Positionals:/,/^$/ { /^  [A-Z]/p }' <<< "$help")
  if ((number >= ${#arguments[@]})) && [[ ${arguments[*]: -1} == *...* ]]; then number=$((${#arguments[@]} - 1)); fi
  [[ ${arguments[number]-} == *directory* ]]
}

# Bash breaks words at ":", too: of 127.0.0.1:7401 it makes three, which become
# one again here, up to the one at the cursor.
_rocksync_join_words() {  # sets `words`, and what of the last bash has completed
  local i
  words=() completed=
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    if ((i > 1)) && [[ ${COMP_WORDS[i]} =~ ^:+$ || ${COMP_WORDS[i-1]} =~ ^:+$ ]]; then
      completed=${words[-1]}
      words[-1]+=${COMP_WORDS[i]}
    else
      completed=
      words+=("${COMP_WORDS[i]}")
    fi
  done
  # The ":" at the cursor, too.
  if [[ -n $completed && ${COMP_WORDS[COMP_CWORD]} =~ ^:+$ ]]; then completed=${words[-1]}; fi
}

_rocksync() {
  local words completed
  _rocksync_join_words
  _rocksync_offer "$1"
  # Readline puts what is offered in the place of the word behind the ":".
  COMPREPLY=("${COMPREPLY[@]#"$completed"}")
}

_rocksync_offer() {  # the program; for the `words`, of which the last is at the cursor
  local program=$1 last=$((${#words[@]} - 1)) command=() help behind_equals=
  local current=${words[last]} previous=${words[last-1]}
  if [[ $program == *rocksync && $last -gt 1 ]]; then command=("${words[1]}"); fi
  COMPREPLY=()
  # Bash breaks words at "=": of --ca=FILE it makes three.
  if [[ $current == = ]]; then
    current='' behind_equals=1
  elif [[ $previous == = && $last -gt 1 ]]; then
    previous=${words[last-2]} behind_equals=1
  fi
  case $previous in
    --ca|--ca-key|--certificate|--private-key|--secret)
      mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    --certificates|--dir|--output|--against|--wal-dir)
      mapfile -t COMPREPLY < <(compgen -d -- "$current"); return ;;
  esac
  # The LOGDIR of --wal-dir DIR=LOGDIR; nothing else has a "=".
  if [[ -n $behind_equals && $previous != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -d -- "$current"); return
  fi
  help=$("$program" "${command[@]}" --help 2>/dev/null)
  # Of a number, a name or an address nothing is known.
  if [[ $previous == --* ]] && _rocksync_takes_value "$help" "$previous"; then return; fi
  if [[ $current == -* || ( ${#command[@]} -eq 0 && $program == *rocksync ) ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_rocksync_words "$program" "${command[@]}")" -- "$current")
  elif _rocksync_is_directory "$help" "${words[@]:1+${#command[@]}:last-1-${#command[@]}}"; then
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
  fi
}
complete -o filenames -F _rocksync rocksync rocksync-store
