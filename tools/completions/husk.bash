# Completion of husk(1) for bash.
_husk() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb='' i
	local verbs='mcp serve ui jupyter run repl shell open cp ps stop history exports gc setup keys secret gate doctor config demo help'
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -* || ${COMP_WORDS[i - 1]} == --env-file ]] || {
			verb=${COMP_WORDS[i]}
			break
		}
	done
	case $before in
	--env-file | --file | --prefix | --unix | --tls-cert | --tls-key)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	--language | --runtime)
		mapfile -t COMPREPLY < <(compgen -W 'python node r' -- "$word")
		return
		;;
	--pictures)
		mapfile -t COMPREPLY < <(compgen -W 'auto kitty iterm sixel file' -- "$word")
		return
		;;
	get | set | unset)
		[[ $verb != config ]] || {
			mapfile -t COMPREPLY < <(compgen -W "$(husk config list 2>/dev/null | awk '{ print $1 }')" -- "$word")
			return
		}
		;;
	esac
	local options='--env-file --help'
	case $verb in
	'') options="$verbs --env-file --help --version" ;;
	help) options=$verbs ;;
	mcp) options+=' --allow' ;;
	serve) options+=' --listen --unix --tls-cert --tls-key --behind-proxy --allow-host --allow' ;;
	keys) options='add list remove --tenant --scope --max-sessions --max-memory --max-streams --max-exports --json --env-file --help' ;;
	secret) options='set list remove --host --header --query --basic --tenant --json --env-file --help' ;;
	gate) options='allow deny check list --json --env-file --help' ;;
	doctor) options+=' --json --probe --verbose' ;;
	run) options+=' --language --dependency --requirements --alone --env --secret --file --export --timeout --memory --cpus --disk --image --network --no-network' ;;
	repl) options+=' --pictures --language --dependency --env --secret --memory --cpus --disk --image --network --no-network' ;;
	config) options='list get set unset --json --env-file --help' ;;
	jupyter) options+=' --tcp --install --uninstall --user --prefix' ;;
	setup) options+=' --runtime --engine-only' ;;
	ui) options+=' --print' ;;
	ps) options+=' --json --all --watch --metrics' ;;
	gc) options+=' --json --exports --images --older --yes' ;;
	history) options+=' --ipynb --json --verify' ;;
	exports) options+=' --json --thread --all --delete' ;;
	stop) options+=' --all' ;;
	shell) options+=' --cwd' ;;
	esac
	if [[ ($verb == run || $verb == cp) && $word != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	elif [[ ($verb == stop || $verb == gate || $verb == history || $verb == shell || $verb == open || $verb == repl || $verb == jupyter) && $word != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(husk ps 2>/dev/null | awk 'NR > 1 && NF > 3 { print $1 }')" -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
	fi
}
complete -o filenames -F _husk husk
