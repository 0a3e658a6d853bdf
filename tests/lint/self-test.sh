#!/usr/bin/env bash
# A check that cannot fail checks nothing: each one here passes on a clean tree and fails on one with a single violation.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

fresh_tree() {
	rm -rf "$scratch/tree"
	mkdir -p "$scratch"/tree/{base,kernels,manager/{engine,store},mcp,tools,runtimes/python,runtimes/r/husk}
	cp "$here/../../.clang-format" "$here/../../.clang-tidy" "$scratch/tree/"
	printf 'int one(void);\n\nint one(void)\n{\n\treturn 1;\n}\n' >"$scratch/tree/base/one.c"
	printf '#include "base/one.h"\n' >"$scratch/tree/mcp/main.c"
	printf 'int one(void);\n' >"$scratch/tree/base/one.h"
	printf '#!/bin/sh\ntrue\n' >"$scratch/tree/tools/a.sh"
	printf 'export const one = 1;\n' >"$scratch/tree/tools/one.mjs"
	printf 'print(1)\n' >"$scratch/tree/tools/a.py"
	printf 'resume <- function() 1\n' >"$scratch/tree/runtimes/r/husk/b.R"
}

# expect pass|fail CHECK WHAT
expect() {
	local want=$1 check=$2 what=$3 got=pass
	"$here/$check" "$scratch/tree" >"$scratch/out" 2>&1 || got=fail
	if [ "$got" = "$want" ]; then
		printf 'ok: %s: %s on %s\n' "$check" "$want" "$what"
	else
		printf 'not ok: %s should %s on %s\n' "$check" "$want" "$what"
		sed 's/^/    /' "$scratch/out"
		failed=1
	fi
}

# broken CHECK WHAT FILE LINE…: a tree whose FILE also has these lines fails CHECK.
broken() {
	local check=$1 what=$2 file=$3
	shift 3
	fresh_tree
	printf '%b\n' "$@" >>"$scratch/tree/$file"
	expect fail "$check" "$what"
}

fresh_tree
for check in "$here"/check-*.sh; do
	expect pass "${check##*/}" "a clean tree"
done

broken check-format.sh "spaces for tabs" base/one.c 'int two(void) {\n  return 2;\n}'
broken check-format.sh "white space at the end" tools/a.sh 'true '
broken check-layers.sh "base including kernels" base/one.c '#include "kernels/protocol.h"'
broken check-layers.sh "base including manager" base/one.c '#include "manager/model/result.h"'
broken check-layers.sh "kernels including manager" kernels/init.c '#include "manager/model/result.h"'
broken check-layers.sh "engine including manager" manager/engine/docker.c '#include "manager/model/config.h"'
broken check-layers.sh "engine including kernels/init.h" manager/engine/docker.c '#include "kernels/init.h"'
broken check-layers.sh "store including manager" manager/store/store.c '#include "manager/manager.h"'
broken check-layers.sh "store including engine" manager/store/store.c '#include "manager/engine/engine.h"'
broken check-layers.sh "sqlite3.h outside its adapter" manager/store/store.c '#include <sqlite3.h>'
broken check-layers.sh "libpq-fe.h outside its adapter" manager/store/store.c '#include <libpq-fe.h>'
broken check-layers.sh "manager including mcp" manager/registry/manager.c '#include "mcp/rpc.h"'
broken check-layers.sh "manager including kernels/init.h" manager/registry/manager.c '#include "kernels/init.h"'
broken check-layers.sh "mcp including the engine" cli/main.c '#include "manager/engine/engine.h"'
broken check-layers.sh "mcp including a private header" cli/main.c '#include "manager/session/session.h"'
broken check-layers.sh "mcp including kernels" cli/main.c '#include "kernels/protocol.h"'
broken check-layers.sh "a header beside the file" manager/registry/manager.c '#include "config.h"'
broken check-layers.sh "uv.h outside its adapter" manager/registry/manager.c '#include <uv.h>'
broken check-layers.sh "jansson.h outside its adapters" manager/registry/manager.c '#include <jansson.h>'
broken check-layers.sh "sodium.h outside its adapter" cli/main.c '#include <sodium.h>'
fresh_tree
printf '#include "base/one.h"\n#include "kernels/protocol.h"\n#include "manager/engine/argv.h"\n' >"$scratch/tree/manager/engine/argv.c"
printf '#include <uv.h>\n' >"$scratch/tree/base/loop.c"
printf '#include <sodium.h>\n' >"$scratch/tree/manager/token.c"
expect pass check-layers.sh "what is allowed"
broken check-words.sh "strcpy" base/one.c 'void f(char *a) { strcpy(a, "b"); }'
broken check-words.sh "fork in the manager" manager/registry/manager.c 'int f(void) { return fork(); }'
broken check-words.sh "a to-do" cli/main.c '/* TODO: later */'
broken check-words.sh "a machine's path" tools/a.sh "cd /wo""rk/main"
broken check-words.sh "a home" tools/a.sh 'cd /root/husk'
broken check-words.sh "a registry" tools/package-lock.json '"resolved": "https://registry.example.org/x.tgz"'
broken check-lengths.sh "a long line" base/one.c "/* $(printf '%0140d' 0) */"
fresh_tree
printf '/* %s */\n' {1..701} >>"$scratch/tree/base/one.c"
expect fail check-lengths.sh "a long file"
broken check-shell.sh "a syntax error" tools/a.sh 'if true'
broken check-tidy.sh "a bug" base/one.c 'int f(int x);\nint f(int x)\n{\n\treturn x == 1 || x == 1;\n}'
broken check-javascript.sh "an unused name" tools/a.mjs 'const unused = 1;'
broken check-javascript.sh "another format" tools/a.mjs 'export default  1'
broken check-python.sh "a name that is not there" tools/a.py 'print(nowhere)'
broken check-python.sh "a default that is shared" runtimes/python/a.py 'def f(x=[]):\n    return x'
broken check-r.sh "a syntax error" runtimes/r/husk/a.R 'f <- function( {'
broken check-r.sh "a name that is not there" runtimes/r/husk/a.R 'main <- function() nowhere()'
broken check-r.sh "a function that nobody calls" runtimes/r/husk/a.R 'spare <- function() 1'
broken check-r.sh "an assignment by =" runtimes/r/husk/a.R 'main = function() 1'
broken check-help.sh "a program without its page" cli/options.c '\t{ "fly", VERB_FLY, "up" },'
# documented_tree: what check-help.sh compares, as it is in this repository.
documented_tree() {
	fresh_tree
	mkdir -p "$scratch/tree/docs"
	(cd "$here/../.." && cp --parents docs/husk.1 docs/husk-client.1 cli/options.c kernels/main.c manager/model/config.c runtimes/*/runtime.json "$scratch/tree/")
}
documented_tree
expect pass check-help.sh "the documents of this tree"
for part in 'docs/husk.1:^\.It Fl Fl json' 'docs/husk.1:^\.It Ev CONTAINER_PIDS_LIMIT' 'docs/husk-client.1:^\.It Cm attach' \
	'cli/options.c:--probe ' 'kernels/main.c:--lease S'; do
	documented_tree
	sed -i "/${part#*:}/d" "$scratch/tree/${part%%:*}"
	expect fail check-help.sh "${part%%:*} without ${part#*:}"
done
# table_tree: the table of behaviours and its page, as they are in this repository.
table_tree() {
	fresh_tree
	(cd "$here/../.." && cp --parents docs/behaviours.md tests/e2e/behaviours*.py tests/e2e/languages/*.py "$scratch/tree/")
}
table_tree
expect pass check-behaviours.sh "the table of this tree"
table_tree
sed -i '/endless loop/d' "$scratch/tree/docs/behaviours.md"
expect fail check-behaviours.sh "a page without a row"
for change in '/"endless_loop"/d' 's/"endless_loop": dict(code/"endless_loop": dict(cude/' 's/"endless_loop": dict.*/"endless_loop": absent(""),/'; do
	table_tree
	sed -i "$change" "$scratch/tree/tests/e2e/languages/r.py"
	expect fail check-behaviours.sh "a column with $change"
done
exit $failed
