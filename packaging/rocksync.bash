# Completion of `rocksync` and `rocksync-store` for bash: what their --help says.
# Each package of the two has it, under the name of its program.

_rocksync_words() {  # options, or the names of commands, in a --help
  "$@" --help 2>/dev/null | sed -nE \
    -e 's/^  (-[a-zA-Z],)?(--[a-z-]+).*/\2/p' \
    -e '/^Subcommands:/,$ s/^  ([a-z]+) .*/\1/p'
}

_rocksync() {
  local program=$1 current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=()
  if [[ $program == *rocksync && $COMP_CWORD -gt 1 ]]; then command=("${COMP_WORDS[1]}"); fi
  COMPREPLY=()
  # Bash breaks words at "=": of --ca=FILE it makes three.
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = && $COMP_CWORD -gt 1 ]]; then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  case $previous in
    --ca|--ca-key|--certificate|--private-key|--secret)
      mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    --certificates|--dir|--output|--against)
      mapfile -t COMPREPLY < <(compgen -d -- "$current"); return ;;
    --*)
      # Of a number, a name or an address nothing is known.
      if "$program" "${command[@]}" --help 2>/dev/null | grep -qE -e "^  $previous [A-Z]"; then return; fi ;;
  esac
  if [[ $current == -* || ( ${#command[@]} -eq 0 && $program == *rocksync ) ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_rocksync_words "$program" "${command[@]}")" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
  fi
}
complete -o filenames -F _rocksync rocksync rocksync-store
