#!/usr/bin/env bash
# The include arrow is the architecture: base < kernels < manager/engine, manager/store < manager < mcp, and a third-party header appears
# only in the files that adapt it. ARCHITECTURE.md says why; this says it so that it stays true.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# What files below a folder may include of ours (extended regular expressions on the path between the quotes).
declare -A may=(
	[base]='base/'
	[kernels]='base/|kernels/'
	[manager/engine]='base/|manager/engine/|kernels/protocol\.h$'
	[manager/store]='base/|manager/store/|manager/config\.h$'
	[manager]='base/|manager/|kernels/(protocol|entry)\.h$|runtimes\.inc$'
	[mcp]='base/|mcp/|manager/(admin|manager|run|config|doctor|reap|thread|copy|store/store)\.h$'
)
# Where a third-party header may be included (on the file's path).
declare -A only=(
	[uv.h]='^base/(loop|stream|child|work)\.c$'
	[jansson.h]='^(mcp/|kernels/|base/args\.|manager/(collect|deps-set|thread|wire)\.|manager/engine/(info|inspect)\.c$)'
	[sodium.h]='^manager/(token|store/key|files/digest)\.c$'
	[archive.h]='^manager/files/(source-export|tarball)\.c$'
	[archive_entry.h]='^manager/files/(source-export|tarball)\.c$'
	[sqlite3.h]='^manager/store/sqlite\.c$'
	[libpq-fe.h]='^manager/store/postgres\.c$'
)

layer_of() {
	case $1 in
	manager/engine/* | manager/store/*) echo "${1%/*}" ;;
	*) echo "${1%%/*}" ;;
	esac
}

while IFS= read -r file; do
	layer=$(layer_of "$file")
	while IFS=: read -r at line; do
		header=$(sed -E 's/^[^"<]*["<]([^">]*)[">].*/\1/' <<<"$line")
		if [[ $line == *'"'* ]]; then
			[[ $header =~ ^(${may[$layer]}) ]] || complain "$file:$at: $layer may not include \"$header\""
		else
			[ -z "${only[$header]-}" ] || [[ $file =~ ${only[$header]} ]] ||
				complain "$file:$at: <$header> is not for this file, only for ${only[$header]}"
		fi
	done < <(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' "$file" || true)
done < <(files 'base/*.[ch]' 'kernels/*.[ch]' 'manager/*.[ch]' 'mcp/*.[ch]')

finish
