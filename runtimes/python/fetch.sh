#!/usr/bin/env bash
# Fetches pyarrow from PyPI for the packages image, since Debian does not package it: fetch.sh DIRECTORY [ARCHITECTURE]
# Runs on the host, since certificates and settings for the index are there and must not get into an image. The
# directory becomes the context of the Dockerfile next to this file; images.py hashes both into the image's name.
# needs: pip3 python3-pip
set -euo pipefail

version=21.0.0
declare -A sums=(
	[x86_64]=69cbbdf0631396e9925e048cfa5bce4e8c3d3b41562bbd70c685a8eb53a91e61
	[aarch64]=f522e5709379d72fb3da7785aa489ff0bb87448a9dc5a75f45763a795a089ebd
)

folder=${1:?usage: fetch.sh DIRECTORY [ARCHITECTURE]}
case ${2:-$(uname -m)} in
x86_64 | amd64 | x64) arch=x86_64 ;;
aarch64 | arm64) arch=aarch64 ;;
*)
	echo "fetch.sh: there is no wheel of pyarrow for ${2:-$(uname -m)}" >&2
	exit 1
	;;
esac

work=$(mktemp -d "$folder/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "fetching pyarrow $version"
echo "pyarrow==$version --hash=sha256:${sums[$arch]}" >"$work/requirements.txt"
pip3 install --quiet --root-user-action ignore --disable-pip-version-check --require-hashes --no-deps --no-compile --only-binary :all: --implementation cp \
	--python-version 3.13 --platform "manylinux_2_28_$arch" --target "$work/packages" --requirement "$work/requirements.txt"
# Headers, sources and tests are only needed to compile against pyarrow.
rm -rf "$work"/packages/pyarrow/{include,src,tests,includes} "$work"/packages/bin
find "$work/packages" \( -name '*.pyx' -o -name '*.pxi' -o -name '*.pxd' \) -delete
chmod -R u=rwX,go=rX "$work/packages"
rm -rf "$folder/packages"
mv "$work/packages" "$folder/packages"
