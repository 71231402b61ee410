# Completion of normexp for bash: source <(normexp completion bash)
_normexp() {
    local line=${COMP_LINE:0:COMP_POINT} word answer kept
    local -a words
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    word=${words[-1]}
    kept=""  # bash itself keeps what stands before a character that breaks words
    [[ $word == *=* && $COMP_WORDBREAKS == *=* ]] && kept=${word%"${word##*=}"}
    COMPREPLY=()
    while IFS= read -r answer; do
        answer=${answer%%$'\t'*}
        if [[ -n $answer ]]; then COMPREPLY+=("${answer#"$kept"}"); else compopt +o default; fi
    done < <(printf '%s\n' "${words[@]:1}" | command "${words[0]}" completion candidates 2> /dev/null)
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    return 0
}
complete -o default -F _normexp normexp
