#compdef normexp
# Completion of normexp for zsh: source <(normexp completion zsh), after compinit
_normexp() {
    local answer
    local -a open closed
    for answer in "${(@f)$(print -rl -- "${(@)words[2,CURRENT-1]}" "$PREFIX" \
        | command "${words[1]}" completion candidates 2> /dev/null)}"; do
        [[ $answer == $'\t'* ]] && { _message -r "${answer#$'\t'}"; return; }
        answer=${${answer//:/\\:}/$'\t'/:}
        case ${answer%%:*} in
            "") ;;
            *=) open+=("$answer") ;;
            *) closed+=("$answer") ;;
        esac
    done
    if (( $#open + $#closed == 0 )); then
        compset -P '*='
        _files
        return
    fi
    (( $#open )) && _describe -t keys key open -S ''
    (( $#closed )) && _describe -t words word closed
}
compdef _normexp normexp
