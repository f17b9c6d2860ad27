# SPDX-License-Identifier: MIT
# Completion for fish. What could stand at the cursor says the program itself: see src/launch/complete.h.

function __claude_profile_candidates
    set -l words (commandline -opc) (commandline -ct)
    set -l program $words[1]

    for line in ($program __complete $words[2..] 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path (commandline -ct)
            case :programs
                complete -C (commandline -ct)
            case '*'
                echo $line
        end
    end
end

complete -c claude-profile -f -a '(__claude_profile_candidates)'
