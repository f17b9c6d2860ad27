# SPDX-License-Identifier: MIT
# Completion for bash. What could stand at the cursor says the program itself: see src/launch/complete.h.

_claude_profile() {
        local word=${COMP_WORDS[COMP_CWORD]} line

        COMPREPLY=()
        [[ $word == "=" ]] && word=
        while IFS= read -r line; do
                case $line in
                :files) compopt -o bashdefault -o default ;;
                :programs) mapfile -t COMPREPLY < <(compgen -c -- "$word") ;;
                *) line=${line%%$'\t'*} && [[ $line == "$word"* ]] && COMPREPLY+=("$line") ;;
                esac
        done < <("$1" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}

complete -F _claude_profile claude-profile
