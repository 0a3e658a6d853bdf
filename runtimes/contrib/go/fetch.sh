#!/usr/bin/env bash
# Builds gophernotes, and gorun, which runs programs in the same interpreter, from the Go module proxy for the packages
# image: fetch.sh DIRECTORY [ARCHITECTURE]
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

# gomacro's own command reports a failed program with exit code 0, and shows a message for each package clause.
mkdir gorun
cat >gorun/main.go <<'END'
// Runs a program in the interpreter of gophernotes: gorun FILE [ARGUMENT…]
package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"

	"github.com/cosmos72/gomacro/base"
	"github.com/cosmos72/gomacro/fast"
)

// withoutClause replaces the package clause by blanks, so that lines and columns in messages stay correct.
func withoutClause(source []byte) string {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.PackageClauseOnly)
	if err == nil {
		for at := file.Package - 1; at < file.Name.End()-1; at++ {
			source[at] = ' '
		}
	}
	return string(source)
}

// run returns the value of the program's panic, or nil.
func run(interpreter *fast.Interp, source string) (failure interface{}) {
	defer func() { failure = recover() }()
	interpreter.Eval(source)
	if interpreter.Comp.TryResolve("main") != nil {
		interpreter.Eval("main()")
	}
	return nil
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: gorun FILE [ARGUMENT…]")
		os.Exit(2)
	}
	source, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Args = os.Args[1:]
	interpreter := fast.New()
	globals := &interpreter.Comp.Globals
	globals.Options &^= base.OptTrapPanic
	globals.Filepath = os.Args[0]
	if failure := run(interpreter, withoutClause(source)+"\n"); failure != nil {
		fmt.Fprintln(os.Stderr, "panic:", failure)
		os.Exit(2)
	}
}
END
export CGO_ENABLED=0 GOOS=linux GOARCH=$arch GOFLAGS="-mod=readonly -buildvcs=false"
go build -trimpath -ldflags '-s -w' -o "$folder/gophernotes" .
go build -trimpath -ldflags '-s -w' -o "$folder/gorun" ./gorun
chmod 0755 "$folder/gophernotes" "$folder/gorun"
