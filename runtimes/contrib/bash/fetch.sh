#!/usr/bin/env bash
# Fetches bash_kernel from PyPI for the packages image: fetch.sh DIRECTORY [ARCHITECTURE]
# Runs on the host, since certificates and settings for the index are there and must not get into an image.
# needs: pip3 python3-pip
set -euo pipefail

version=0.10.0
sum=da28513230f5307c7a49e87352366304dc52b66faa207d6caed1b2bdec03c1fa

folder=${1:?usage: fetch.sh DIRECTORY [ARCHITECTURE]}
work=$(mktemp -d "$folder/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
pip3 download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$work" "bash_kernel==$version"
sha256sum --check --status <<<"$sum  $work/bash_kernel-$version-py2.py3-none-any.whl" || {
	echo "fetch.sh: bash_kernel $version does not have the expected checksum" >&2
	exit 1
}
python3 -m zipfile -e "$work"/*.whl "$work"
chmod -R u=rwX,go=rX "$work/bash_kernel"
mv "$work/bash_kernel" "$folder/"
