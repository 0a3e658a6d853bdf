# Functions that the scripts of this tree share. bash sources it; it does nothing by itself.
# shellcheck shell=bash

say() { printf '==> %s\n' "$*"; }
note() { printf '    %s\n' "$*"; }

# die WHAT [LINE…]: ends with the status $die_status, 1 by default.
die() {
	printf 'error: %s\n' "$1" >&2
	shift
	[ $# -eq 0 ] || printf '       %s\n' "$@" >&2
	exit "${die_status:-1}"
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "this step needs root, and there is no sudo here" "Run it as root: $*"
	fi
}

# progress TITLE LOG COMMAND…: runs COMMAND with all its output in LOG and shows its progress: on a terminal in one
# line that is rewritten each second, elsewhere by a line every ten seconds. After a failure it prints the end of LOG
# and returns COMMAND's status.
progress() {
	local title=$1 log=$2 began=$SECONDS status=0
	shift 2
	{ "$@" 2>&1 </dev/null | tee "$log" | show_progress "$title"; } || status=$?
	[ ! -t 1 ] || printf '\r\033[K'
	if [ "$status" = 0 ]; then
		note "$title: done in $((SECONDS - began)) s"
		return 0
	fi
	printf 'error: %s failed (status %d); the end of %s:\n' "$title" "$status" "$log" >&2
	tail -n 20 "$log" | sed 's/^/       /' >&2
	return "$status"
}

show_progress() {
	local began=$SECONDS shown=$SECONDS line='' last='' status width
	width=$(tput cols 2>/dev/null || echo 80)
	while true; do
		status=0
		IFS= read -r -t 1 line || status=$?
		[ -z "$line" ] || last=$line
		if [ -t 1 ]; then
			line="    $1: $((SECONDS - began)) s  $(plain "$last")"
			printf '\r\033[K%s' "${line:0:$((width - 1))}"
		elif [ $((SECONDS - shown)) -ge 10 ]; then
			shown=$SECONDS
			line="    $1: $((SECONDS - began)) s  $(plain "$last")"
			printf '%s\n' "${line:0:110}"
		fi
		[ "$status" = 0 ] || [ "$status" -gt 128 ] || return 0 # above 128: no line came within a second
	done
}

# Removes colours and carriage returns from a line.
plain() {
	local text=${1//$'\r'/ }
	while [[ $text =~ $'\e'\[[0-9\;]*m ]]; do
		text=${text//"${BASH_REMATCH[0]}"/}
	done
	printf '%s' "$text"
}

# apt_install TITLE PACKAGE…: on Debian and its derivatives. If the lists cannot be refreshed, apt-get install reports
# it.
apt_install() {
	local title=$1 log
	shift
	command -v apt-get >/dev/null ||
		die "$title: no apt-get here" "Install the equivalents of these Debian packages and try again:" "$*"
	[ "$(id -u)" = 0 ] || as_root true # asks for the password before the progress line starts
	log=$(mktemp)
	progress "package lists" "$log" as_root apt-get -q update || true
	progress "$title" "$log" as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a \
		apt-get -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 install --yes --no-install-recommends "$@" ||
		die "could not install: $*"
	rm -f "$log"
}
