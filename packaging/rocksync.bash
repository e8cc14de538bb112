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
  local -a words=("${@:2}") arguments
  for ((i = 0; i < ${#words[@]}; ++i)); do
    if [[ ${words[i]} != --* ]]; then
      ((++number))
    elif [[ ${words[i+1]-} != = ]] && _rocksync_takes_value "$help" "${words[i]}"; then
      ((++i))
    fi
    # --wal-dir=DIR=LOGDIR is five words.
    while [[ ${words[i+1]-} == = ]]; do ((i += 2)); done
  done
  mapfile -t arguments < <(sed -n '/^Positionals:/,/^$/ { /^  [A-Z]/p }' <<< "$help")
  if ((number >= ${#arguments[@]})) && [[ ${arguments[*]: -1} == *...* ]]; then number=$((${#arguments[@]} - 1)); fi
  [[ ${arguments[number]-} == *directory* ]]
}

_rocksync() {
  local program=$1 current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=() help behind_equals=
  if [[ $program == *rocksync && $COMP_CWORD -gt 1 ]]; then command=("${COMP_WORDS[1]}"); fi
  COMPREPLY=()
  # Bash breaks words at "=": of --ca=FILE it makes three.
  if [[ $current == = ]]; then
    current='' behind_equals=1
  elif [[ $previous == = && $COMP_CWORD -gt 1 ]]; then
    previous=${COMP_WORDS[COMP_CWORD-2]} behind_equals=1
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
  elif _rocksync_is_directory "$help" "${COMP_WORDS[@]:1+${#command[@]}:COMP_CWORD-1-${#command[@]}}"; then
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
  fi
}
complete -o filenames -F _rocksync rocksync rocksync-store
