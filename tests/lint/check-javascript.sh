#!/usr/bin/env bash
# ESLint finds nothing in our JavaScript, and Prettier would not change it. Both are installed from npm, once for each
# lockfile. To change a version, edit javascript/package.json, then run `npm install --package-lock-only` there.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mapfile -t sources < <(files '*.mjs')
[ ${#sources[@]} -gt 0 ] || exit 0

manifest=("$home"/javascript/{package.json,package-lock.json,.npmrc,eslint.config.mjs})
tools=$home/../../${BUILD:-build}/lint-$(cat "${manifest[@]}" | sha256sum | head -c 12)

install() {
	mkdir -p "$tools" && cp "${manifest[@]}" "$tools/" &&
		(cd "$tools" && npm ci --ignore-scripts >install.log 2>&1) && touch "$tools/installed"
}

[ -f "$tools/installed" ] || install || {
	tail -n 20 "$tools/install.log" || true
	echo "cannot install ESLint and Prettier: npm and its registry are needed (tools/install-deps.sh test installs npm)"
	exit 1
}

report=$(node "$tools/node_modules/eslint/bin/eslint.js" --config "$tools/eslint.config.mjs" "${sources[@]}" 2>&1) ||
	complain "$report"
report=$(node "$tools/node_modules/prettier/bin/prettier.cjs" --no-config --print-width 120 --list-different "${sources[@]}" 2>&1) ||
	complain "not as prettier --print-width 120 --write makes it: $report"

finish
