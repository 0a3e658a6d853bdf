#!/usr/bin/env bash
# Shows that each check can fail: it passes on a clean tree and fails on a tree with a single violation.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
unset BUILD
# If python3 is a script that searches for an interpreter (pyenv's), the search would take most of the time.
mkdir "$scratch/bin"
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$scratch/bin/python3"
PATH=$scratch/bin:$PATH

# program NAME FLAG…
program() {
	local name=$1
	shift
	echo 'int main(void) { return 0; }' | cc -x c -fPIE -Wl,-z,relro -Wl,-z,noexecstack "$@" -o "$scratch/$name" -
}
program good -static-pie -Wl,-z,now
program fixed -static -no-pie -Wl,-z,now
program lazy -pie -Wl,-z,lazy

# tree NAME: a copy of the tree that make_NAME_tree makes; it is made only once.
tree() {
	if [ ! -d "$scratch/$1" ]; then
		"make_$1_tree"
		cp -a "$scratch/tree" "$scratch/$1"
	else
		rm -rf "$scratch/tree"
		cp -a "$scratch/$1" "$scratch/tree"
	fi
}
fresh_tree() { tree fresh; }
layered_tree() { tree layered; }
documented_tree() { tree documented; }
table_tree() { tree table; }

make_fresh_tree() {
	local program
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
	mkdir -p "$scratch/tree/build"
	mkdir -p "$scratch/tree/build/jupyter/face"
	for program in husk jupyter/face/husk-jupyter-face husk-client husk-fence husk-probe husk-fit; do
		cp "$scratch/good" "$scratch/tree/build/$program"
	done
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
	mkdir -p "$(dirname "$scratch/tree/$file")"
	printf '%b\n' "$@" >>"$scratch/tree/$file"
	expect fail "$check" "$what"
}

fresh_tree
for check in "$here"/check-*.sh; do
	expect pass "${check##*/}" "a clean tree"
done

for bad in fixed lazy; do
	fresh_tree
	cp "$scratch/$bad" "$scratch/tree/build/husk"
	expect fail check-binaries.sh "a program that is $bad"
done
broken check-format.sh "spaces for tabs" base/one.c 'int two(void) {\n  return 2;\n}'
broken check-format.sh "white space at the end" tools/a.sh 'true '
# A file in every layer, with every kind of include that is allowed.
make_layered_tree() {
	local folder
	fresh_tree
	mkdir -p "$scratch"/tree/{cli,kernels/jupyter,libhusk,bench,clients/c,tests/unit,tests/lint}
	mkdir -p "$scratch"/tree/manager/{model,engine/docker,line,session,files,deps,registry,doctor}
	for folder in base kernels manager/{model,engine,store,line,session,files,deps,registry,doctor} mcp cli libhusk; do
		printf '#include <errno.h>\n\n#include "%s"\n' base/one.h >"$scratch/tree/$folder/low.h"
		printf '#include "%s/low.h"\n' "$folder" >"$scratch/tree/$folder/high.h"
	done
	sed -i '/base/d' "$scratch/tree/base/low.h"
	printf '#include "base/low.h"\n' | tee "$scratch"/tree/{kernels/protocol.h,kernels/entry.h,manager/engine/engine.h,mcp/server.h,libhusk/husk.h} >/dev/null
	printf '#include "manager/model/low.h"\n' >"$scratch/tree/manager/manager.h"
	printf '#include "manager/manager.h"\n' | tee "$scratch"/tree/{manager/doctor/doctor.h,mcp/one.c,libhusk/one.c} >/dev/null
	printf '#include "manager/manager.h"\n#include "mcp/server.h"\n' >"$scratch/tree/cli/main.c"
	printf '#include "kernels/protocol.h"\n#include "manager/engine/low.h"\n#include <jansson.h>\n' >"$scratch/tree/manager/engine/docker/docker.c"
	printf '#include "manager/engine/engine.h"\n#include "manager/store/low.h"\n' >"$scratch/tree/manager/line/line.c"
	printf '#include <uv.h>\n#include <sys/stat.h>\n#include <linux/openat2.h>\n' >"$scratch/tree/base/loop.c"
	printf '#include <sodium.h>\n' >"$scratch/tree/manager/model/token.c"
	printf '#include <zmq.h>\n#include "kernels/low.h"\n' >"$scratch/tree/kernels/jupyter/channels.c"
	printf '#include "libhusk/husk.h"\n' >"$scratch/tree/bench/one.c"
	printf '#include <uv.h>\n#include <cmocka.h>\n#include "manager/engine/low.h"\n' >"$scratch/tree/tests/unit/test-one.c"
	# A module with a private header and a part, which may include each other.
	printf '#include "mcp/big-private.h"\n' | tee "$scratch"/tree/mcp/{big,big-part}.c >/dev/null
	printf '#include "mcp/big.h"\n' >"$scratch/tree/mcp/big-private.h"
	printf '#include "mcp/low.h"\n' >"$scratch/tree/mcp/big.h"
}

# forbidden WHAT FILE LINES WORDS: a layered tree whose FILE also has these lines is rejected with these words.
forbidden() {
	local what=$1 file=$2 lines=$3 words=$4
	layered_tree
	mkdir -p "$(dirname "$scratch/tree/$file")"
	printf '%b\n' "$lines" >>"$scratch/tree/$file"
	expect fail check-layers.sh "$what"
	grep -qF -- "$words" "$scratch/out" || {
		printf 'not ok: check-layers.sh on %s says nothing of: %s\n' "$what" "$words"
		sed 's/^/    /' "$scratch/out"
		failed=1
	}
}

layered_tree
expect pass check-layers.sh "what is allowed"
# Each layer, with a header above or beside it that it may not include.
for pair in base:kernels/protocol.h base:manager/model/low.h kernels:manager/model/low.h kernels/jupyter:manager/model/low.h \
	manager/model:kernels/low.h manager/model:manager/engine/low.h manager/engine:manager/store/low.h manager/store:manager/engine/low.h \
	manager/engine:manager/line/low.h manager/line:manager/engine/low.h manager/line:manager/session/low.h manager/line:kernels/low.h manager/session:manager/files/low.h \
	manager/files:manager/deps/low.h manager/deps:manager/files/low.h manager/deps:manager/registry/low.h manager/deps:manager/manager.h \
	manager/registry:manager/doctor/low.h manager/registry:mcp/low.h manager/doctor:cli/low.h mcp:manager/registry/low.h \
	mcp:manager/model/low.h mcp:manager/store/low.h mcp:kernels/protocol.h mcp:cli/low.h cli:manager/engine/low.h cli:mcp/low.h cli:manager/doctor/doctor.h \
	libhusk:manager/session/low.h libhusk:mcp/server.h bench:manager/model/low.h clients:base/low.h mcp:tests/unit/unit.h; do
	layered_tree
	printf '\n' >"$scratch/tree/tests/unit/unit.h"
	printf '#include "%s"\n' "${pair#*:}" >"$scratch/tree/${pair%%:*}/new.c"
	expect fail check-layers.sh "${pair%%:*} including ${pair#*:}"
	grep -qF "${pair%%:*} may not include \"${pair#*:}\"" "$scratch/out" || {
		printf 'not ok: check-layers.sh says something else of %s\n' "$pair"
		failed=1
	}
done
forbidden "a folder of the manager that is new" manager/pool/pool.c 'int x;' 'manager/pool is not in LAYERS'
forbidden "a folder that is new" web/web.h 'int x;' 'web is not in LAYERS'
forbidden "C at the top" husk.c 'int x;' 'the top is not in LAYERS'
forbidden "a folder below a known one" base/more/x.c 'int x;' 'base/more is not in LAYERS'
# Attempts to get around the check.
forbidden "a header of ours in angle brackets" base/one.c '#include <manager/engine/low.h>' '<manager/engine/low.h> is ours'
forbidden "dots that lead out" base/one.c '#include "base/../manager/engine/low.h"' 'is not the plain path'
forbidden "dots that lead up" base/one.c '#include "../manager/engine/low.h"' 'is not the plain path'
forbidden "dots in angle brackets" base/one.c '#include <../manager/engine/low.h>' 'is ours'
forbidden "a dot in the middle" mcp/one.c '#include "manager/./engine/low.h"' 'is not the plain path'
forbidden "a macro" base/one.c '#define HEADER "manager/engine/low.h"\n#include HEADER' 'a macro'
forbidden "a macro that makes strings" base/one.c '#define H(x) #x\n#include H(manager/engine/low.h)' 'a macro'
forbidden "a directive in two lines" base/one.c '#inc\\\nlude "manager/engine/low.h"' 'base may not include "manager/engine/low.h"'
forbidden "a comment in a directive" base/one.c '/*\n*/ # /* */ include/**/"manager/engine/low.h"' 'base may not include "manager/engine/low.h"'
forbidden "a comment of two lines in a directive" base/one.c '#include /*\n*/ "manager/engine/low.h"' 'base/one.c:7: an include that a macro'
forbidden "another spelling of #" base/one.c '%: include "manager/engine/low.h"' 'base may not include "manager/engine/low.h"'
forbidden "include_next" base/one.c '#include_next "manager/engine/low.h"' 'base may not include "manager/engine/low.h"'
forbidden "a header beside the file" manager/registry/low.c '#include "low.h"' '"low.h" is not in the tree'
forbidden "a source" base/two.c '#include "base/one.c"' '"base/one.c" is not a header'
forbidden "an include path" base/meson.build "c_args: ['-I../manager']" 'base/meson.build:1: an include path of its own'
layered_tree
ln -s ../manager/engine/low.h "$scratch/tree/base/engine.h"
expect fail check-layers.sh "a symbolic link"
layered_tree
printf '/* #include "manager/engine/low.h" */\n// #include "cli/low.h"\nconst char *s = "\\\n#include <uv.h>";\n' >>"$scratch/tree/base/one.c"
expect pass check-layers.sh "includes in comments and strings"
# Headers that faces see.
forbidden "manager.h showing the store" manager/manager.h '#include "manager/store/low.h"' 'would be shown to faces'
forbidden "manager.h showing the registry" manager/manager.h '#include "manager/registry/low.h"' 'would be shown to faces'
# Cycles.
forbidden "two headers in a cycle" base/low.h '#include "base/high.h"' 'a cycle of modules: base/high -> base/low -> base/high'
forbidden "a cycle through a source" mcp/low.c '#include "mcp/high.h"' 'a cycle of modules: mcp/high -> mcp/low -> mcp/high'
layered_tree
printf '#include "kernels/high.h"\n' >"$scratch/tree/kernels/top.h"
printf '#include "kernels/top.h"\n' >"$scratch/tree/kernels/low.c"
expect fail check-layers.sh "a cycle of three"
forbidden "a cycle through a private header" mcp/low.c '#include "mcp/big-private.h"' 'a cycle of modules: mcp/big -> mcp/low -> mcp/big'
layered_tree
printf '#include "mcp/big.h"\n' >"$scratch/tree/mcp/user.h"
printf '#include "mcp/user.h"\n' >>"$scratch/tree/mcp/big-part.c"
expect fail check-layers.sh "a cycle through a part"
layered_tree
printf '#include "tests/unit/b.h"\n' >"$scratch/tree/tests/unit/a.h"
printf '#include "tests/unit/a.h"\n' >"$scratch/tree/tests/unit/b.h"
expect fail check-layers.sh "a cycle in the tests"
# Third parties.
forbidden "sqlite3.h outside its adapter" manager/store/store.c '#include <sqlite3.h>' '<sqlite3.h> is not for this file'
forbidden "libpq-fe.h outside its adapter" manager/store/store.c '#include <libpq-fe.h>' '<libpq-fe.h> is not for this file'
forbidden "uv.h outside its adapters" manager/registry/low.c '#include <uv.h>' '<uv.h> is not for this file'
forbidden "jansson.h outside its adapters" manager/registry/low.c '#include <jansson.h>' '<jansson.h> is not for this file'
forbidden "jansson.h in a header of the manager" manager/line/low.h '#include <jansson.h>' '<jansson.h> is not for this file'
forbidden "sodium.h outside its adapters" cli/main.c '#include <sodium.h>' '<sodium.h> is not for this file'
forbidden "a library that nobody knows" base/one.c '#include <ev.h>' '<ev.h> is unknown'
broken check-words.sh "strcpy" base/one.c 'void f(char *a) { strcpy(a, "b"); }'
broken check-words.sh "fork in the manager" manager/registry/low.c 'int f(void) { return fork(); }'
broken check-words.sh "a tool in a text of the manager" manager/store/store.c 'const char *s = "call stop_session";'
broken check-words.sh "a to-do" cli/main.c '/* TODO: later */'
broken check-words.sh "a machine's path" tools/a.sh "cd /wo""rk/main"
broken check-words.sh "a home" tools/a.sh 'cd /root/husk'
broken check-words.sh "a registry" tools/package-lock.json '"resolved": "https://registry.example.org/x.tgz"'
broken check-words.sh "wording that a page must not have" docs/a.md 'The cell goes on.'
broken check-words.sh "such wording in a folder that was rewritten" tests/lint/a.sh '# The cell goes on.'
python3 -B "$here/prose.py" --self-test || failed=1
broken check-pages.sh "a link to a missing page" docs/a.md '[b](b.md)'
broken check-pages.sh "a link to a missing heading" docs/a.md '# One\n\n[two](#two)'
broken check-pages.sh "a mention of a missing page" base/one.c '/* docs/nowhere.md */'
broken check-pages.sh "a line of 101 columns" docs/a.md "$(printf 'a%.0s' {1..50}) $(printf 'b%.0s' {1..50})"
broken check-pages.sh "a paragraph of six lines" docs/a.md 'a\nb\nc\nd\ne\nf'
broken check-pages.sh "a code block without a language" docs/a.md '```\nx\n```'
broken check-pages.sh "a code block that is not run for no reason" docs/a.md '```sh not run\nx\n```'
broken check-pages.sh "a README of 901 words" README.md "$(printf 'word\\n\\n%.0s' {1..901})"
fresh_tree
mkdir "$scratch/tree/docs"
printf '# One, `two`\n\n[one](a.md#one-two) [b](b.md) [web](https://example.org/x)\n\n```sh not run: needs a person\n[c](c.md)\n```\n' >"$scratch/tree/docs/a.md"
printf 'a\nb\nc\nd\ne\n\n| %0120d |\n' 0 >"$scratch/tree/docs/b.md"
expect pass check-pages.sh "links, tables and blocks that are right"
broken check-lengths.sh "a long line" base/one.c "/* $(printf '%0140d' 0) */"
fresh_tree
printf '/* %s */\n' {1..701} >>"$scratch/tree/base/one.c"
expect fail check-lengths.sh "a long file"
broken check-shell.sh "a syntax error" tools/a.sh 'if true'
broken check-tidy.sh "a bug" base/one.c 'int f(int x);\nint f(int x)\n{\n\treturn x == 1 || x == 1;\n}'
broken check-javascript.sh "an unused name, in another format" tools/a.mjs 'const  unused = 1;'
for words in "'unused' is assigned a value but never used" 'not as prettier'; do
	grep -qF -- "$words" "$scratch/out" || {
		printf 'not ok: check-javascript.sh says nothing of: %s\n' "$words"
		failed=1
	}
done
broken check-python.sh "a name that is not there" tools/a.py 'print(nowhere)'
broken check-types.sh "a function without types" clients/python/husk/a.py 'def f(x):\n    return x'
broken check-python.sh "a default that is shared" runtimes/python/a.py 'def f(x=[]):\n    return x'
broken check-r.sh "a syntax error" runtimes/r/husk/a.R 'f <- function( {'
broken check-r.sh "a name that is not there" runtimes/r/husk/a.R 'main <- function() nowhere()'
broken check-r.sh "a function that nobody calls" runtimes/r/husk/a.R 'spare <- function() 1'
broken check-r.sh "a function that is defined twice" runtimes/r/husk/a.R $'main <- function() 1\nmain <- function() 2'
broken check-r.sh "an assignment by =" runtimes/r/husk/a.R 'main = function() 1'
# The pages that check-help.sh reads, as they are in this repository.
make_documented_tree() {
	fresh_tree
	mkdir -p "$scratch/tree/docs"
	(cd "$here/../.." && cp --parents docs/husk.1 docs/husk-client.1 docs/cli.md cli/verbs.c "$scratch/tree/")
}
documented_tree
expect pass check-help.sh "the documents of this tree"
for part in 'docs/husk.1:^\.El' 'docs/husk-client.1:^\.Bl' 'docs/cli.md:husk serve'; do
	documented_tree
	sed -i "/${part#*:}/d" "$scratch/tree/${part%%:*}"
	expect fail check-help.sh "${part%%:*} without ${part#*:}"
done
# The table of behaviours and its page, as they are in this repository.
make_table_tree() {
	fresh_tree
	(cd "$here/../.." && cp --parents docs/behaviours.md tests/e2e/behaviours*.py tests/e2e/languages/*.py tests/e2e/languages/contrib/*.py "$scratch/tree/")
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
# A promise, its mark and the page.
make_promised_tree() {
	fresh_tree
	mkdir -p "$scratch/tree/docs" "$scratch/tree/tests/e2e"
	printf '### A\n- **It holds.** Always. <!-- promise: holds -->\n' >"$scratch/tree/SECURITY.md"
	printf '# evidence: holds\ndef test_holds():\n    pass\n' >"$scratch/tree/tests/e2e/test_a.py"
	"$here/../../tools/evidence.py" "$scratch/tree" >"$scratch/tree/docs/evidence.md"
}
promised_tree() { tree promised; }
promised_tree
expect pass check-evidence.sh "a promise with a test"
for change in 'docs/evidence.md:/It holds/d' 'SECURITY.md:s/holds -->/stands -->/' 'tests/e2e/test_a.py:s/holds/falls/' 'tests/e2e/test_a.py:s/evidence: holds/evidence: holds, other/'; do
	promised_tree
	sed -i "${change#*:}" "$scratch/tree/${change%%:*}"
	expect fail check-evidence.sh "${change%%:*} after ${change#*:}"
done
exit $failed
