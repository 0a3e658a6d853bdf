#!/usr/bin/env bash
# Installs the distribution's packages that building or testing Husk needs, and the Python test tools into BUILD/venv.
#   tools/install-deps.sh build|test|dist      BUILD: the build directory, default build
# If everything is installed already, it takes no time and asks for no password.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/shell.sh

build=${BUILD:-build}
build_packages=(build-essential meson ninja-build pkg-config python3
	libuv1-dev libjansson-dev libsodium-dev libssl-dev libsqlite3-dev libpq-dev libarchive-dev libvterm-dev libcurl4-openssl-dev
	libedit-dev libsixel-dev node-llhttp libwslay-dev)
dist_packages=(patchelf dpkg-dev libzmq3-dev)
test_packages=("${dist_packages[@]}" libcmocka-dev libfaketime clang clang-format clang-tidy libclang-rt-dev shellcheck
	python3-venv postgresql runsc)
venv_packages=(pytest pytest-timeout jsonschema nbformat ruff==0.17.4 mypy==2.4.1
	jupyter-client jupyter-console nbclient nbconvert jupyter-kernel-test schemathesis==4.32.5)

# Names from the arguments that are not installed.
missing() {
	local installed package
	installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
	for package in "$@"; do
		grep -qxF "installed $package" <<<"$installed" || echo "$package"
	done
}

ensure_packages() {
	local what=$1 wanted
	shift
	if ! command -v dpkg-query >/dev/null; then
		note "this is not Debian or Ubuntu: install the equivalents of $*"
		return
	fi
	mapfile -t wanted < <(missing "$@")
	[ ${#wanted[@]} -gt 0 ] || return 0
	say "installing what ${what}ing needs: ${wanted[*]}"
	apt_install "packages" "${wanted[@]}"
	# A build folder that was configured without these packages is configured again.
	[ ! -f "$build/build.ninja" ] || meson setup --reconfigure "$build" >/dev/null
}

ensure_venv() {
	local python=/usr/bin/python3 stamp=$build/venv/.installed
	[ -x "$python" ] || python=python3
	[ "$(cat "$stamp" 2>/dev/null)" != "${venv_packages[*]}" ] || return 0
	say "installing the Python test tools into $build/venv"
	mkdir -p "$build"
	"$python" -m venv "$build/venv"
	progress "${venv_packages[*]}" "$build/venv/install.log" \
		"$build/venv/bin/pip" install --disable-pip-version-check --progress-bar off "${venv_packages[@]}"
	echo "${venv_packages[*]}" >"$stamp"
}

case ${1-} in
build)
	# The page of husk serve is built with npm.
	command -v npm >/dev/null || build_packages+=(nodejs npm)
	ensure_packages build "${build_packages[@]}"
	;;
test)
	command -v npm >/dev/null || test_packages+=(nodejs npm)
	# The tests of the page; other builds can be named in HUSK_CHROMIUM and HUSK_FIREFOX.
	[ -n "${HUSK_CHROMIUM-}" ] || test_packages+=(chromium)
	# Only make test-long uses Firefox.
	[ -n "${HUSK_FIREFOX-}" ] || test_packages+=(firefox-esr)
	ensure_packages test "${build_packages[@]}" "${test_packages[@]}"
	ensure_venv
	;;
dist)
	command -v npm >/dev/null || build_packages+=(nodejs npm)
	ensure_packages packag "${build_packages[@]}" "${dist_packages[@]}"
	;;
*)
	die "usage: tools/install-deps.sh build|test|dist"
	;;
esac
