#!/usr/bin/env bash
# Builds gophernotes from the Go module proxy for the packages image: fetch.sh DIRECTORY [ARCHITECTURE]
# Runs on the host, since certificates and settings for the proxy are there and must not get into an image. The sum
# below pins gophernotes, and its go.sum pins its dependencies.
# needs: go golang-go
set -euo pipefail

module=github.com/gopherdata/gophernotes
version=v0.7.5
sum=h1:hhQiBOwv4KR02mlYdHiHfLGybtC1QxatCnJqt75apVw=

folder=${1:?usage: fetch.sh DIRECTORY [ARCHITECTURE]}
case ${2:-$(uname -m)} in
x86_64 | amd64 | x64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*)
	echo "fetch.sh: gophernotes is not built for ${2:-$(uname -m)}" >&2
	exit 1
	;;
esac

work=$(mktemp -d "$folder/.fetch.XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
read -r got source < <(GOFLAGS=-mod=mod go mod download -json "$module@$version" |
	python3 -c 'import json, sys; found = json.load(sys.stdin); print(found["Sum"], found["Dir"])')
[ "$got" = "$sum" ] || {
	echo "fetch.sh: $module $version does not have the expected checksum" >&2
	exit 1
}
cp -r "$source" "$work/gophernotes"
chmod -R u+w "$work/gophernotes"
cd "$work/gophernotes"
CGO_ENABLED=0 GOOS=linux GOARCH=$arch GOFLAGS="-mod=readonly -buildvcs=false" go build -trimpath -ldflags '-s -w' -o "$folder/gophernotes" .
chmod 0755 "$folder/gophernotes"
