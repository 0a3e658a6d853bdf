#!/usr/bin/env bash
# Words that do not belong here: functions that cannot be used safely, tools in texts that any face may show, work left undone
# without an issue, and paths or hosts of a developer's machine.
lint=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$lint/lib.sh"

self=tests/lint/

# deny WHAT PATTERN FILE-PATTERN…: no matching file has a line that matches the extended regular expression.
deny() {
	local what=$1 pattern=$2 file at line
	shift 2
	while IFS=: read -r file at line; do
		[[ $file == "$self"* ]] || complain "$file:$at: $what: ${line:0:100}"
	done < <(files "$@" | xargs -r -d '\n' grep -nHIE "$pattern" -- || true)
}

# Code that includes base/defs.h cannot call these functions either (#pragma GCC poison). PID 1's few fork() calls are allowed.
deny "banned function" \
	'(^|[^A-Za-z0-9_.>"])(strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|atof|gets|system|popen|alloca|tmpnam|mktemp|rand|srand|strncpy|usleep|sleep)\(' \
	'base/*.[ch]' 'http/*.[ch]' 'kernels/*.[ch]' 'manager/*.[ch]' 'mcp/*.[ch]' 'api/*.[ch]' 'attach/*.[ch]' 'cli/*.[ch]' 'libhusk/*.[ch]'
# cli/setup.c, cli/jupyter.c and base/tether.c only replace their own process by a script or program.
deny "fork outside PID 1 (base/child does it)" '(^|[^A-Za-z0-9_.>"])(fork|vfork|posix_spawn|execv[pe]*|execl[pe]*)\(' \
	'base/*.[ch]' 'http/*.[ch]' 'manager/*.[ch]' 'mcp/*.[ch]' 'api/*.[ch]' 'attach/*.[ch]' 'cli/*.[ch]' 'libhusk/*.[ch]' ':!cli/setup.c' ':!cli/jupyter.c' ':!base/tether.c'
# postgres.c waits in a thread of the pool, with a deadline. libhusk starts one thread for its loop.
deny "blocking wait in the host program" '(^|[^A-Za-z0-9_.>"])(waitpid|wait|pthread_create|poll|select)\(' \
	'base/*.[ch]' 'http/*.[ch]' 'manager/*.[ch]' 'mcp/*.[ch]' 'api/*.[ch]' 'attach/*.[ch]' 'cli/*.[ch]' 'libhusk/*.[ch]' ':!manager/store/postgres.c' ':!libhusk/thread.c' ':!libhusk/examples/*'
# Only faces may name a tool in a sentence, because only they word the next step. A string that is just a tool's name
# is allowed: the store records it.
tools='(create_session|stop_session|execute_code|execute_terminal|import_files|export_files|session_info)'
deny "a tool in a text below the faces" "\"[^\"]+${tools}|\"${tools}[^\"]+\"" 'base/*.[ch]' 'http/*.[ch]' 'kernels/*.[ch]' 'manager/*.[ch]'
deny "work left undone" '(^|[^A-Za-z])(TODO|FIXME|XXX|HACK)([^A-Za-z]|$)' \
	'*.c' '*.h' '*.py' '*.mjs' '*.sh' '*.md' '*.build' 'Makefile' 'tests/run' '*Dockerfile*'
edge='(^|[^A-Za-z0-9._/-])'
deny "path of one machine" "$edge(/work|/home/[a-rt-z][a-z0-9]*)(/|[^A-Za-z0-9._-]|\$)" \
	'*.c' '*.h' '*.py' '*.mjs' '*.sh' '*.build' '*.json' '*.toml' '*.ini' '*.txt' 'Makefile' 'tests/run' '*Dockerfile*' '*.npmrc'
deny "somebody's home" "$edge/root/" '*.c' '*.h' '*.py' '*.mjs' '*.sh' '*.build' '*.json' 'Makefile' 'tests/run'
deny "registry host" 'https?://[^"'"'"' ]*(registry|artifactory|nexus|pypi|mirror|proxy)[^"'"'"' ]*' \
	'*package-lock.json' '*.npmrc' '*requirements*.txt' '*pip.conf' '*Dockerfile*' '*.build' 'tools/*.sh' 'runtimes/*'

# Wording that readers stumble over, in pages, comments and the subjects of commits.
while IFS= read -r line; do
	complain "$line"
done < <(python3 -B "$lint/prose.py" "$PWD" || true)

finish
