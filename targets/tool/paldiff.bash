# SPDX-License-Identifier: Apache-2.0
# Completion for bash of `paldiff` and `ci/run`: source this file. All words come from the tool's own --help and from
# `paldiff list --names`; it breaks when --help no longer writes "--option=KIND" and "Usage: paldiff COMMAND".

_paldiff_tool() { # _paldiff_tool WORD: the program to ask: the one that is typed, or the build behind ci/run
  case $1 in
    ci/run | */ci/run) printf '%s\n' "${1%ci/run}build/gcc/paldiff" ;;
    *) printf '%s\n' "$1" ;;
  esac
}
_paldiff_commands() { "$1" --help 2>/dev/null | sed -nE 's/^  ([a-z]+)  .*/\1/p'; }
_paldiff_options() { grep -oE -- '--[a-z][a-z-]*' <<<"$1" | sort -u; }

_paldiff_values() { # _paldiff_values TOOL OPTION HELP: what may follow an option
  case $2 in
    --mutant) "$1" list --names=mutants ;;
    --target) "$1" list --names=targets ;;
    --rule) "$1" list --names=rules ;;
    --names) printf '%s\n' targets rules mutants ;;
    *) if grep -qE -- "${2}[= ](DIR|FILE)" <<<"$3"; then compgen -f -- "$current"; fi ;;
  esac
}
_paldiff_arguments() { # _paldiff_arguments TOOL HELP: what may stand alone
  local usage
  usage=$(sed -n '/^Usage: /,/^ *$/p' <<<"$2" | head -n 3)
  if [[ $usage == *TARGET* ]]; then "$1" list --names=targets; fi
  if [[ $usage == *FILE* || $usage == *DIR* ]]; then compgen -f -- "$current"; fi
}

_paldiff() {
  local current=${COMP_WORDS[COMP_CWORD]} option='' tool help='' command at=1 words
  COMPREPLY=()
  tool=$(_paldiff_tool "${COMP_WORDS[0]}")
  # --mutant=NAME arrives as three words.
  if [[ $current == '=' ]]; then
    option=${COMP_WORDS[COMP_CWORD - 1]} current=''
  elif ((COMP_CWORD > 2)) && [[ ${COMP_WORDS[COMP_CWORD - 1]} == '=' ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  else
    option=${COMP_WORDS[COMP_CWORD - 1]}
  fi
  if [[ $tool != "${COMP_WORDS[0]}" ]]; then
    if ((COMP_CWORD == 1)); then
      words=$("${COMP_WORDS[0]}" --help 2>/dev/null | sed -nE 's/^(usage:)? +ci\/run ([a-z]+).*/\2/p')
      mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
      return
    fi
    case ${COMP_WORDS[1]} in
      paldiff) at=2 ;;
      fuzz) help=$("${COMP_WORDS[0]}" --help 2>/dev/null) ;;
      bench) ;;
      *) return ;;
    esac
  fi
  if ((COMP_CWORD == at)); then
    mapfile -t COMPREPLY < <(compgen -W "$(_paldiff_commands "$tool") --help --manual" -- "$current")
    return
  fi
  command=${COMP_WORDS[at]}
  if [[ $command == fuzz ]]; then command=run; fi
  if [[ ! $help ]]; then help=$("$tool" "$command" --help 2>/dev/null); fi
  if [[ $current == -* ]]; then
    words=$(_paldiff_options "$help")
  elif [[ $option == --* ]] && grep -qE -- "${option}[= ][A-Z]" <<<"$help"; then
    words=$(_paldiff_values "$tool" "$option" "$help")
  else
    words=$(_paldiff_arguments "$tool" "$("$tool" "$command" --help 2>/dev/null)")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o filenames -F _paldiff paldiff ci/run ./ci/run
