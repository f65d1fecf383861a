# bash completion for weir(1). Commands, options and filters are asked of weir
# itself, so that they are always those of the weir that is installed.

_weir_commands()
{
    "$1" help 2>/dev/null | sed -n 's/^  \([a-z]*\)  *[A-Z].*/\1/p'
}

_weir_options()
{
    "$1" help "$2" 2>/dev/null | sed -n '/^options:/,$ s/^  [-a-zA-Z, ]\{4\}\(--[a-z-]*\).*/\1/p'
    echo --help
}

# The words that may follow an option, as its help names them: "text|json|none".
_weir_values()
{
    "$1" help "$2" 2>/dev/null | sed -n "s/^  .*$3 \([a-z|]*|[a-z]*\)\( .*\)\{0,1\}\$/\1/p" | tr '|' ' '
}

_weir()
{
    local weir=${COMP_WORDS[0]} command=${COMP_WORDS[1]}
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}

    COMPREPLY=()
    if ((COMP_CWORD == 1)) || [[ $command == help && $COMP_CWORD == 2 ]]; then
        COMPREPLY=($(compgen -W "$(_weir_commands "$weir")" -- "$word"))
        return
    fi
    case $before in
    -a | --algorithm)
        if [[ $command == top ]]; then
            COMPREPLY=($(compgen -W "top heavykeeper" -- "$word"))
        else
            COMPREPLY=($(compgen -W "$("$weir" list 2>/dev/null | grep -v '^ ')" -- "$word"))
        fi
        return
        ;;
    -m | --memory | -e | --fpr | -S | --set | --seed | -k | --key | -i | --importance | -d | \
        --delimiter | --max-record | --checkpoint | -j | --threads | --shards | --baseline-memory | \
        --curve | --permutations | -w | --weight | --ngrams | -n | --number | --share | \
        --store | --window | --theta | --max-wait | --words | --timeout | --retries | \
        --fnr | --cost | --count | --time | --lateness | --once-per | --at | --wait)
        return
        ;;
    --synthetic | --stream)
        COMPREPLY=($(compgen -W "uniform: zipf: endless" -- "$word"))
        return
        ;;
    --time-format)
        COMPREPLY=($(compgen -W "s ms us rfc3339 clf" -- "$word"))
        return
        ;;
    --screen)
        COMPREPLY=($(compgen -W "auto cache dabf 1bf strict none" -- "$word"))
        return
        ;;
    --emit | --stats | --on-error | --on-missing | --on-full | --on-store-error | --format)
        COMPREPLY=($(compgen -W "$(_weir_values "$weir" "$command" "$before")" -- "$word"))
        return
        ;;
    esac
    case $command,$word in
    *,-*) COMPREPLY=($(compgen -W "$(_weir_options "$weir" "$command")" -- "$word")) ;;
    gen,*) COMPREPLY=($(compgen -W "uniform: zipf: endless" -- "$word")) ;;
    list,*) COMPREPLY=($(compgen -W "$("$weir" list 2>/dev/null | grep '^ \{0,2\}[a-z0-9-]*$')" -- "$word")) ;;
    *)
        compopt -o default 2>/dev/null
        COMPREPLY=($(compgen -f -- "$word"))
        ;;
    esac
}

complete -F _weir weir
