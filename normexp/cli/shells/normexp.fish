# Completion of normexp for fish: normexp completion fish | source
function __normexp_candidates
    set -l words (commandline -opc) (commandline -ct)
    printf '%s\n' $words[2..-1] | command $words[1] completion candidates 2>/dev/null
end
complete -c normexp -a '(__normexp_candidates)'
