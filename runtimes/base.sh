#!/usr/bin/env bash
# Makes the base image of all runtimes, Debian 13 (trixie), and tags it: base.sh TAG
# The image is pulled if a registry answers, and otherwise built from Debian's signed packages.
# images.py hashes this file into the tags: a change here rebuilds every image.
set -euo pipefail

suite=trixie
tag=${1:?usage: base.sh TAG}
read -ra docker <<<"${DOCKER:-docker}"

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

echo "asking the registry for debian:$suite-slim"
if timeout 600 "${docker[@]}" pull --quiet "debian:$suite-slim"; then
	"${docker[@]}" tag "debian:$suite-slim" "$tag"
	exit 0
fi

echo "no registry answers: building the base from Debian packages"
if ! command -v mmdebstrap >/dev/null; then
	if ! command -v apt-get >/dev/null; then
		echo "this needs mmdebstrap, which can only be installed on Debian or Ubuntu" >&2
		exit 1
	fi
	as_root apt-get update || true
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
		mmdebstrap debian-archive-keyring
fi

work=$(mktemp -d)
trap 'as_root rm -rf "$work"' EXIT
# Written to a file first, because an import from a pipe would accept a truncated tree.
as_root mmdebstrap --variant=apt --include=ca-certificates \
	--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
	--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*' \
	"$suite" "$work/base.tar"
"${docker[@]}" import --change 'CMD ["bash"]' "$work/base.tar" "$tag"
