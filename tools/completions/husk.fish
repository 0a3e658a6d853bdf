# Completion of husk(1) for fish.
set -l verbs mcp demo doctor run shell setup config ps stop gc exports history
complete -c husk -f
complete -c husk -n "not __fish_seen_subcommand_from $verbs" -a mcp -d 'serve the Model Context Protocol on stdin and stdout'
complete -c husk -n "not __fish_seen_subcommand_from $verbs" -a demo -d 'a short tour through the real server'
complete -c husk -n "not __fish_seen_subcommand_from $verbs" -a doctor -d 'check the engine, images, folders and settings'
complete -c husk -n "not __fish_seen_subcommand_from $verbs" -a run -d 'run a program in a fresh sandbox'
complete -c husk -n "not __fish_seen_subcommand_from $verbs" -a shell -d 'a terminal in a session'
complete -c husk -n "not __fish_seen_subcommand_from $verbs" -a setup -d 'install and start an engine, build the images'
complete -c husk -n "not __fish_seen_subcommand_from $verbs" -a config -d 'list the settings, and keep some'
complete -c husk -n "not __fish_seen_subcommand_from $verbs" -a ps -d 'list the sessions of all servers of this user'
complete -c husk -n "not __fish_seen_subcommand_from $verbs" -a stop -d 'stop a session by its id'
complete -c husk -n "not __fish_seen_subcommand_from $verbs" -a gc -d 'remove what ended servers have left behind'
complete -c husk -n "not __fish_seen_subcommand_from $verbs" -a exports -d 'list the files that sessions have exported'
complete -c husk -n "not __fish_seen_subcommand_from $verbs" -a history -d 'list what was executed in a session'
complete -c husk -l env-file -r -F -d 'settings file'
complete -c husk -l help -d 'a summary'
complete -c husk -n "not __fish_seen_subcommand_from $verbs" -l version -d 'name and version'
complete -c husk -n '__fish_seen_subcommand_from doctor ps gc exports history config' -l json -d 'one JSON object'
complete -c husk -n '__fish_seen_subcommand_from doctor' -l probe -d 'try a session of each runtime'
complete -c husk -n '__fish_seen_subcommand_from history' -l ipynb -d 'as a notebook'
complete -c husk -n '__fish_seen_subcommand_from history' -l verify -d 'is the log what was written?'
complete -c husk -n '__fish_seen_subcommand_from ps' -l watch -d 'again every two seconds'
complete -c husk -n '__fish_seen_subcommand_from exports' -l thread -r -d 'another conversation'
complete -c husk -n '__fish_seen_subcommand_from stop exports' -l all -d 'all of them'
complete -c husk -n '__fish_seen_subcommand_from config' -a 'list get set unset'
complete -c husk -n '__fish_seen_subcommand_from get set unset' -a '(husk config list 2>/dev/null | string split -f1 " ")'
complete -c husk -n '__fish_seen_subcommand_from setup' -l runtime -r -a 'python node r' -d 'only this one'
complete -c husk -n '__fish_seen_subcommand_from setup' -l engine-only -d 'no images'
complete -c husk -n '__fish_seen_subcommand_from run' -F
complete -c husk -n '__fish_seen_subcommand_from run' -l language -r -a 'python node r' -d language
complete -c husk -n '__fish_seen_subcommand_from run' -s d -l dependency -r -d 'package'
complete -c husk -n '__fish_seen_subcommand_from run' -l env -r -d 'variable'
complete -c husk -n '__fish_seen_subcommand_from run' -l file -r -F -d 'file to have there'
complete -c husk -n '__fish_seen_subcommand_from run' -l export -r -d 'file to bring back'
complete -c husk -n '__fish_seen_subcommand_from run' -l timeout -r -d seconds
complete -c husk -n '__fish_seen_subcommand_from run' -l memory -r -d 'such as 4g'
complete -c husk -n '__fish_seen_subcommand_from run' -l cpus -r -d number
complete -c husk -n '__fish_seen_subcommand_from run' -l disk -r -d 'such as 10g'
complete -c husk -n '__fish_seen_subcommand_from run' -l image -r -d 'of CONTAINER_IMAGES'
complete -c husk -n '__fish_seen_subcommand_from shell' -a '(husk ps 2>/dev/null | string match -rg "^(\\w{26}) ")' -d session
