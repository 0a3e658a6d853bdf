#!/usr/bin/env bash
# Downloads Debian packages and unpacks them into a folder outside the tree, without installing them. Prints the folder.
#   fetch.sh NAME [SUITE] PACKAGE…
# With SUITE (such as trixie) exactly these packages come from that release, by a configuration of apt of their own.
# Without it they come from the machine's release, with all dependencies that the machine lacks.
set -euo pipefail
name=$1
shift
suite=
[[ $1 != suite:* ]] || { suite=${1#suite:} && shift; }
cache=${HUSK_ENGINES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/husk-engines}
folder=$cache/$name-$(printf '%s\n' "$suite" "$@" | sha256sum | cut -c1-12)

apt_options=()
use_suite() {
	local site
	site=$(apt-get indextargets --format '$(SITE) $(ORIGIN)' 'Created-By: Packages' | sed -n 's/ Debian$//p' | head -n 1)
	mkdir -p "$1"/{state/lists/partial,cache/archives/partial,parts}
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $suite main" >"$1/sources.list"
	: >"$1/status"
	apt_options=(-o "Dir::State=$1/state" -o "Dir::State::status=$1/status" -o "Dir::Cache=$1/cache" -o "Dir::Etc::SourceList=$1/sources.list"
		-o "Dir::Etc::SourceParts=$1/parts" -o APT::Sandbox::User=root)
	apt-get "${apt_options[@]}" -qq update
}

download() {
	local scratch
	scratch=$(mktemp -d "$cache/scratch-XXXXXX")
	# shellcheck disable=SC2064 # this folder
	trap "rm -rf '$scratch'" EXIT
	mkdir -p "$scratch"/{archives/partial,root}
	if [ -n "$suite" ]; then
		use_suite "$scratch/apt"
		(cd "$scratch/archives" && apt-get "${apt_options[@]}" -qq download "$@")
	else
		apt-get -qq -o "Dir::Cache::archives=$scratch/archives" -o Debug::NoLocking=1 -o APT::Sandbox::User=root \
			--yes --no-install-recommends --download-only install "$@"
	fi
	for package in "$scratch"/archives/*.deb; do
		dpkg-deb -x "$package" "$scratch/root"
		basename "$package" .deb >>"$scratch/root/packages"
	done
	mv -T "$scratch/root" "$folder"
}

mkdir -p "$cache"
exec 9>"$cache/lock-$name"
flock 9
[ -d "$folder" ] || download "$@" >&2
echo "$folder"
