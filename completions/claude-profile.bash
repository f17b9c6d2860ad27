# SPDX-License-Identifier: MIT
# Completion for bash. What could stand at the cursor says the program itself: see src/launch/complete.h.

_claude_profile() {
        local word=${COMP_WORDS[COMP_CWORD]} before line i
        local -a words=()

        # Words are cut at "=", too, which is a word then.
        for ((i = 1; i <= COMP_CWORD; i++)); do
                if ((i > 1)) && [[ ${COMP_WORDS[i]} == "=" || ${COMP_WORDS[i - 1]} == "=" ]]; then
                        words[-1]+=${COMP_WORDS[i]}
                else
                        words+=("${COMP_WORDS[i]}")
                fi
        done
        [[ $word == "=" ]] && word=
        before=${words[-1]%"$word"}

        COMPREPLY=()
        while IFS= read -r line; do
                case $line in
                :files) compopt -o bashdefault -o default ;;
                :programs) mapfile -t COMPREPLY < <(compgen -c -- "$word") ;;
                *) line=${line%%$'\t'*} && [[ $line == "$before$word"* ]] && COMPREPLY+=("${line#"$before"}") ;;
                esac
        done < <("$1" __complete "${words[@]}" 2>/dev/null)
        [[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace
}

complete -F _claude_profile claude-profile
