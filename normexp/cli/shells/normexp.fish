# Completion of normexp for fish: normexp completion fish | source
function __normexp_candidates
    set -l words (commandline -opc) (commandline -ct)
    set -l found (printf '%s\n' $words[2..-1] | command $words[1] completion candidates 2>/dev/null)
    if set -q found[1]
        string match -rv '^\t' -- $found
    else
        set -l key (string match -r '^[^=]*=' -- $words[-1])
        set -l path (string replace -r '^[^=]*=' '' -- $words[-1])
        complete -C "'' $path" | string replace -r '^' -- "$key"  # of no command: files, and ~ is the home folder
    end
end
complete -c normexp -f -a '(__normexp_candidates)'
