#!/usr/bin/env bash
# Makes sure that a Docker engine answers and has Husk's images. Safe to run again: it does only what is missing. See
# usage() below. Works on Debian and Ubuntu with and without systemd; an engine elsewhere (DOCKER_HOST, a context) is
# used unchanged.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/tools/shell.sh"

usage() {
	cat <<-'EOF'
	usage: setup-docker.sh [--engine-only] [--runtime NAME] [--images FILE] [--logs DIRECTORY]
	                       [--push REGISTRY | --podman | --pool HOSTS]

	Installs and starts a Docker engine if none answers, then builds the images of Husk's runtimes.

	  --engine-only    stop once the engine answers
	  --runtime NAME,… build the images of these runtimes only; those of runtimes/contrib/ are added to the build first
	  --images FILE    the list of images that the build wrote (default: $HUSK_IMAGES, else build/images.json)
	  --logs DIRECTORY where the builders' words are kept (default: beside that list)
	  --push REGISTRY  then push these images there, for the nodes of a cluster
	  --podman         use Podman through its Docker-compatible socket
	  --pool HOSTS     build the images on the first of these hosts, and copy them to the others. HOSTS has the
	                   form of CONTAINER_POOL
	  --help           this text

	An engine that DOCKER_HOST or the docker context names is used, never installed or started.
	EOF
}

engine_only=false
logs=
push=
pool=
podman=false
only_runtime=
images=${HUSK_IMAGES:-$here/build/images.json}
local_socket=/var/run/docker.sock
engine_pid=/var/run/docker.pid
engine_log=/var/log/dockerd.log # if no systemd keeps a journal
start_deadline=60               # seconds; a first start unpacks nothing and takes one or two
docker=(docker)
product=Docker
builder_options=()
needs_group=false

# ---- the engine

endpoint() {
	docker context inspect --format '{{.Endpoints.docker.Host}}' 2>/dev/null ||
		echo "${DOCKER_HOST:-unix://$local_socket}"
}

is_local() {
	[ "$(uname -s)" = Linux ] || return 1
	case $(endpoint) in
	"unix://$local_socket" | "unix://${local_socket#/var}") ;;
	*) return 1 ;;
	esac
}

# Exit codes are those of husk's verbs: 64 for wrong usage, 111 if the engine is missing.
no_engine() { die_status=111 die "$@"; }

engine_version() { timeout 20 "${docker[@]}" version --format '{{.Server.Version}}' 2>/dev/null; }

ensure_engine() {
	local version
	if version=$(engine_version); then
		say "engine: $product $version answers at $(endpoint)"
		return
	fi
	if "$podman"; then
		start_podman
		return
	fi
	is_local || no_engine "no engine answers at $(endpoint)" \
		"DOCKER_HOST or the docker context points there. Start that engine, or unset it to use a local one."
	if [ "$(id -u)" != 0 ]; then
		say "engine: user $(id -un) cannot reach it; trying as root (sudo)"
		as_root true
		docker=(sudo docker)
	fi
	if ! command -v docker >/dev/null || ! version=$(engine_version); then
		bring_up_engine
		version=$(engine_version)
	fi
	say "engine: Docker $version answers at unix://$local_socket"
	[ "$(id -u)" = 0 ] || docker version >/dev/null 2>&1 || needs_group=true
	"$needs_group" || docker=(docker)
}

# The socket of `podman system service`, which systemd starts when somebody connects.
use_podman() {
	local runtime=
	[ "$(id -u)" = 0 ] || runtime=${XDG_RUNTIME_DIR-}
	podman=true
	product=Podman
	[ -n "${DOCKER_HOST-}${DOCKER_CONTEXT-}" ] || export DOCKER_HOST=${CONTAINER_HOST:-unix://${runtime:-/run}/podman/podman.sock}
}

start_podman() {
	local path=${DOCKER_HOST#unix://} log=${engine_log%dockerd.log}podman.log
	[ "$path" != "${DOCKER_HOST-}" ] || no_engine "Podman does not answer at $(endpoint)" "Start it there, or unset DOCKER_HOST."
	command -v podman >/dev/null || apt_install podman podman
	command -v docker >/dev/null || apt_install "the docker client" "$(docker_client_package)"
	hash -r
	say "engine: starting Podman's service"
	if [ -d /run/systemd/system ] && [ "$(id -u)" = 0 ]; then
		systemctl enable --now podman.socket >/dev/null 2>&1 || true
	elif [ -d /run/systemd/system ]; then
		systemctl --user enable --now podman.socket >/dev/null 2>&1 || true
	else
		[ -w "$(dirname "$log")" ] || log=/dev/null
		mkdir -p "$(dirname "$path")"
		(cd / && setsid podman system service --time 0 "$DOCKER_HOST" >>"$log" 2>&1 </dev/null &)
	fi
	wait_for_engine "" || no_engine "Podman did not answer at $DOCKER_HOST within $start_deadline s" \
		"Check \`podman info\` and \`podman system service --time 0 $DOCKER_HOST\`."
	say "engine: Podman $(engine_version) answers at $DOCKER_HOST"
}

docker_client_package() { if apt-cache show docker-cli >/dev/null 2>&1; then echo docker-cli; else echo docker.io; fi; }

# One run at a time, for all checkouts and users: a directory that everybody can open is the lock.
bring_up_engine() {
	exec {lock}</run
	flock "$lock"
	find_dockerd || install_engine
	engine_version >/dev/null || start_engine
	exec {lock}<&-
}

# A docker client alone is not an engine. Users other than root often have no sbin on their PATH.
find_dockerd() {
	PATH=$PATH:/usr/sbin:/sbin:/usr/local/sbin command -v dockerd >/dev/null && command -v docker >/dev/null
}

install_engine() {
	local wanted=(docker.io ca-certificates)
	say "engine: none is installed; installing the distribution's docker.io"
	# Newer releases have the client in a separate package, which docker.io only recommends.
	if ! command -v docker >/dev/null && apt-cache show docker-cli >/dev/null 2>&1; then
		wanted+=(docker-cli)
	fi
	# An engine on a kernel with AppArmor starts no container without the parser.
	if grep -qs Y /sys/module/apparmor/parameters/enabled; then
		wanted+=(apparmor)
	fi
	apt_install "docker.io" "${wanted[@]}"
	hash -r
}

start_engine() {
	if [ -d /run/systemd/system ]; then
		say "engine: starting it (systemctl start docker)"
		as_root systemctl start docker || true
		wait_for_engine "" || {
			as_root journalctl --no-pager --unit docker --lines 15 >&2 || true
			no_engine "the engine did not answer within $start_deadline s; its last log lines are above"
		}
		return
	fi
	local pid=
	clear_stale_pid "$engine_pid" dockerd
	clear_stale_pid /var/run/docker/containerd/containerd.pid containerd
	if is_running "$engine_pid" dockerd; then
		say "engine: dockerd runs but does not answer yet; waiting"
	else
		say "engine: starting dockerd (log: $engine_log)"
		pid=$(start_dockerd)
	fi
	wait_for_engine "$pid" || {
		as_root tail -n 300 "$engine_log" | grep -v level=info | tail -n 15 >&2 || true
		no_engine "the engine did not start; the last lines of $engine_log are above"
	}
}

# A zombie that init has not reaped yet does not count: it has no command line.
is_alive() { [ -n "$(tr -d '\0' <"/proc/$1/cmdline")" ]; } 2>/dev/null

# True if pid file FILE names a living PROGRAM.
is_running() {
	local pid
	pid=$(as_root cat "$1" 2>/dev/null) && is_alive "$pid" && [ "$(cat "/proc/$pid/comm")" = "$2" ]
}

# After a crash or on a restored machine the file names a dead process or another program: dockerd would refuse to
# start.
clear_stale_pid() {
	if as_root test -e "$1" && ! is_running "$1" "$2"; then
		note "removing the stale $1 (process $(as_root cat "$1") is no $2)"
		as_root rm -f "$1"
	fi
}

# Prints the pid. The daemon inherits no descriptors: a caller that waits for this script's pipes or lock must not
# wait for the daemon.
start_dockerd() {
	# shellcheck disable=SC2016 # the inner shell expands them
	as_root bash -c '
		log=$1
		PATH=$PATH:/usr/sbin:/sbin:/usr/local/sbin
		cd / && umask 022
		[ "$(stat -c %s "$log" 2>/dev/null || echo 0)" -lt 10000000 ] || mv -f "$log" "$log.1"
		{
			for fd in /proc/$BASHPID/fd/*; do
				fd=${fd##*/}
				[ "$fd" -le 2 ] || eval "exec $fd>&-"
			done
			exec setsid dockerd
		} >>"$log" 2>&1 </dev/null &
		echo $!
	' dockerd "$engine_log"
}

# Waits until the engine answers, its process (if PID is given) has ended, or the time is over.
wait_for_engine() {
	local pid=$1 deadline=$((SECONDS + start_deadline))
	while ! engine_version >/dev/null; do
		[ "$SECONDS" -lt "$deadline" ] || return 1
		[ -z "$pid" ] || is_alive "$pid" || return 1
		sleep 0.2
	done
}

# Members of the docker group control the engine and through it the machine: the user decides, not this script.
join_group() {
	local user answer=
	user=$(id -un)
	if id -nG "$user" | tr ' ' '\n' | grep -qx docker; then
		note "$user is in the docker group from the next login on. Until then, use: sg docker -c 'COMMAND'"
		return
	fi
	note "User $user may not use the engine yet. Members of the group docker may,"
	note "but they control this machine as root does."
	if [ -t 0 ] && [ -t 1 ]; then
		read -r -p "    Add $user to the group docker? [y/N] " answer
	fi
	case $answer in
	[Yy]*)
		as_root usermod -aG docker "$user"
		note "done; it takes effect at the next login. Until then, use: sg docker -c 'COMMAND'"
		;;
	*)
		note "To do so: sudo usermod -aG docker $user, then log in again."
		return 1 # nothing that follows can work
		;;
	esac
}

# ---- the images

has_image() { "${docker[@]}" image inspect --format . "$1" >/dev/null 2>&1; }

# Adds runtimes of runtimes/contrib/ that the build does not have yet to the build.
add_contrib() {
	local build chosen name wanted=()
	for name in ${only_runtime//,/ }; do
		[ ! -f "$here/runtimes/contrib/$name/runtime.json" ] || wanted+=("$name")
	done
	[ ${#wanted[@]} -gt 0 ] || return 0
	build=$(dirname "$images")
	[ -f "$build/build.ninja" ] || return 0 # another list, such as the tests'
	chosen=$(meson introspect --buildoptions "$build" | python3 -c 'import json, sys
chosen = next(option["value"] for option in json.load(sys.stdin) if option["name"] == "contrib")
print(",".join(sorted({*chosen, *sys.argv[1:]})) if {*sys.argv[1:]} - {*chosen} else "")' "${wanted[@]}")
	[ -n "$chosen" ] || return 0
	say "runtime ${wanted[*]}: the build gets it (meson configure -Dcontrib=$chosen)"
	meson configure "$build" "-Dcontrib=$chosen"
	progress "husk with ${wanted[*]}" "$build/contrib.log" ninja -C "$build"
}

# The fields of each runtime in $images, or of those in $only_runtime and of the runtimes below them, one per line.
# The first field is the number of runtimes below it, for which it must wait.
list_images() {
	python3 - "$images" "$only_runtime" <<-'EOF'
	import json, os, sys
	images = {i["name"]: i for i in json.load(open(sys.argv[1], encoding="utf-8"))}
	chosen = sys.argv[2].split(",") if sys.argv[2] else list(images)
	for name in chosen:
	    if name not in images:
	        print(f"error: no runtime '{name}'; there are: {', '.join(images)}", file=sys.stderr)
	        sys.exit(64)
	    if images[name]["on"] and images[name]["on"] not in chosen:
	        chosen.append(images[name]["on"])
	def depth(name):
	    return 1 + depth(images[name]["on"]) if images[name]["on"] else 0
	here = os.path.dirname(os.path.abspath(sys.argv[1]))  # paths of an installed list are relative to it
	for i in sorted((images[name] for name in chosen), key=lambda i: depth(i["name"])):
	    rest = (os.path.join(here, i["folder"]), os.path.join(here, i["client"]), i["debian_tag"], i["common_tag"], i["adapter_tag"] or "-",
	            ":".join(os.path.join(here, tool) for tool in i["tools"]), *i["files"])
	    print(depth(i["name"]), i["name"], i["base_tag"], i["packages_tag"], i["tag"], *rest, sep="\t")
	EOF
}

# BuildKit if its client part is installed, else the engine's old builder.
choose_builder() {
	local settings=(DOCKER_BUILDKIT=0)
	builder_options=(--force-rm) # the old builder keeps the container of a failed step
	if ! "$podman" && "${docker[@]}" buildx version >/dev/null 2>&1; then
		# The builder inside the engine: others do not see the engine's images.
		settings=(BUILDKIT_PROGRESS=plain "BUILDX_BUILDER=$("${docker[@]}" context show)")
		builder_options=()
	fi
	if [ "${docker[0]}" = sudo ]; then
		docker=(sudo env "${settings[@]}" docker)
	else
		export "${settings[@]}"
	fi
}

ensure_images() {
	local list line fields depth missing=() wave=()
	[ -f "$images" ] || die "$images does not exist" "Build first: make"
	logs=$(cd "${logs:-$(dirname "$images")}" && pwd)
	if command -v flock >/dev/null; then
		exec {lock}>"$logs/.setup-docker.lock"
		flock "$lock" # two runs at once would build everything twice
	fi
	command -v python3 >/dev/null || apt_install python3 python3 # which reads the list
	add_contrib
	list=$(list_images)
	while IFS= read -r line; do
		IFS=$'\t' read -ra fields <<<"$line"
		if has_image "${fields[4]}"; then
			say "image ${fields[4]}: there"
		else
			missing+=("$line")
		fi
	done <<<"$list"
	[ "${#missing[@]}" -gt 0 ] || return 0
	choose_builder
	for line in "${missing[@]}"; do
		IFS=$'\t' read -ra fields <<<"$line"
		ensure_foundation "$logs" "${fields[@]:1}"
	done
	depth=0
	for line in "${missing[@]}"; do
		if [ "${line%%$'\t'*}" != "$depth" ] && [ ${#wave[@]} -gt 0 ]; then
			build_images "$logs" "${wave[@]}"
			wave=()
		fi
		depth=${line%%$'\t'*}
		wave+=("${line#*$'\t'}")
	done
	build_images "$logs" "${wave[@]}"
}

# Builds all images at the same time: unpacking keeps one core busy, and downloads use none. Each build writes to its own
# pipe, so that no build rewrites another's progress line.
build_images() {
	local logs=$1 line fields job jobs=() failed=0
	shift
	if [ $# = 1 ]; then
		IFS=$'\t' read -ra fields <<<"$1"
		ensure_image "$logs" "${fields[@]}"
		return
	fi
	set -m # separate process groups, which an interrupt can end
	for line in "$@"; do
		IFS=$'\t' read -ra fields <<<"$line"
		ensure_image "$logs" "${fields[@]}" > >(exec cat) &
		jobs+=($!)
	done
	set +m
	# shellcheck disable=SC2064 # only these jobs
	trap "kill -- ${jobs[*]/#/-} 2>/dev/null; exit 130" INT TERM
	for job in "${jobs[@]}"; do
		wait "$job" || failed=$?
	done
	trap - INT TERM
	return "$failed"
}

# Takes the steps that several images share, or that may ask for a password, before any image is built.
ensure_foundation() {
	local logs=$1 packages=$4 folder=$6 debian=$8 common=$9 adapter=${10}
	if ! has_image "$packages"; then
		ensure_base "$logs" "$debian" "$common"
		ensure_fetcher "$folder/fetch.sh"
	fi
	if [ "$adapter" != - ] && ! has_image "$adapter"; then
		ensure_base "$logs" "$debian" "$common"
		say "image $adapter: husk-jupyter is compiled in it"
		progress "$adapter" "$logs/image-adapter.log" build_adapter "$common" "$adapter"
		prune jupyter "$adapter"
	fi
}

ensure_image() {
	local logs=$1 name=$2 base=$3 packages=$4 tag=$5 folder=$6 client=$7 adapter=${10} tools=${11}
	shift 11
	if ! has_image "$packages"; then
		say "image $packages: installing the packages of $name, a minute or two"
		progress "$packages" "$logs/image-$name-packages.log" build_packages "$base" "$packages" "$folder" Dockerfile
	fi
	say "image $tag: kernel and husk-client"
	progress "$tag" "$logs/image-$name.log" build_kernel "$packages" "$tag" "$folder" "$client" "$tools" "$adapter" "$@"
	prune "$name" "$tag"
}

# ---- a pool of hosts

# Lets the client use an endpoint of CONTAINER_POOL, as Husk does.
use_endpoint() {
	export DOCKER_CONTEXT='' DOCKER_HOST='' DOCKER_TLS_VERIFY=''
	case $1 in
	context:*) DOCKER_CONTEXT=${1#context:} ;;
	tcp://*) DOCKER_HOST=$1 DOCKER_TLS_VERIFY=1 ;;
	*) DOCKER_HOST=$1 ;;
	esac
}

# Copies the images that a host lacks. Layers that it has are sent again, but not stored again.
copy_images() {
	local from=$1 to=$2 line fields missing=()
	while IFS= read -r line; do
		IFS=$'\t' read -ra fields <<<"$line"
		has_image "${fields[4]}" || missing+=("${fields[4]}")
	done < <(list_images)
	[ ${#missing[@]} -gt 0 ] || return 0
	say "copying ${missing[*]}"
	(use_endpoint "$from" && exec docker save "${missing[@]}") | (use_endpoint "$to" && exec docker load --quiet)
}

ensure_pool() {
	local entry name endpoint first='' failed=()
	IFS=, read -ra entries <<<"$1"
	for entry in "${entries[@]}"; do
		entry=${entry//[[:blank:]]/}
		name=${entry%%=*} endpoint=${entry#*=}
		use_endpoint "$endpoint"
		say "host $name: $endpoint"
		if ! engine_version >/dev/null; then
			note "no engine answers there: $("${docker[@]}" version 2>&1 >/dev/null | tail -n 1)"
			failed+=("$name")
		elif "$engine_only"; then
			:
		elif [ -z "$first" ]; then
			first=$endpoint
			ensure_images
		else
			copy_images "$first" "$endpoint" || failed+=("$name")
		fi
	done
	[ ${#failed[@]} = 0 ] || no_engine "these hosts have no images: ${failed[*]}" "Start their engines and try again."
}

# The nodes of a cluster pull the images from there.
push_images() {
	local line fields
	while IFS= read -r line; do
		IFS=$'\t' read -ra fields <<<"$line"
		say "image $push/${fields[4]}: pushing"
		"${docker[@]}" tag "${fields[4]}" "$push/${fields[4]}"
		"${docker[@]}" push --quiet "$push/${fields[4]}" >/dev/null || die "cannot push to $push" "Check \`docker push\`."
	done < <(list_images)
}

# ensure_base LOGS DEBIAN BASE
ensure_base() {
	local logs=$1 debian=$2 base=$3
	has_image "$base" && return
	has_image "$debian" || {
		say "image $debian: Debian"
		DOCKER="${docker[*]}" progress "$debian" "$logs/image-debian.log" "$here/runtimes/base.sh" "$debian"
	}
	say "image $base: the base of all runtimes"
	progress "$base" "$logs/image-base.log" build_packages "$debian" "$base" "$here/runtimes" Dockerfile.base
}

# Compiles husk-jupyter, for the runtimes of stock Jupyter kernels, from the sources that the build listed.
build_adapter() (
	base=$1 tag=$2 network=default
	bridge_resolves "$base" || network=host
	context=$(mktemp -d) || exit
	trap 'rm -rf "$context"' EXIT
	python3 -c 'import json, sys
for image in json.load(open(sys.argv[1], encoding="utf-8")):
    if image["adapter_tag"] == sys.argv[2]:
        sys.exit(print(*image["adapter_files"], sep="\n"))' "$images" "$tag" >"$context/.files" &&
		tar -C "$here" -cf - --files-from "$context/.files" | tar -C "$context" -xf - &&
		rm "$context/.files" &&
		"${docker[@]}" build "${builder_options[@]}" --network "$network" --build-arg "BASE=$base" --tag "$tag" \
			--file "$here/runtimes/contrib/Dockerfile.adapter" "$context"
)

# Copies husk-jupyter out of the image in which it was compiled: take_adapter IMAGE FILE
take_adapter() (
	container=$("${docker[@]}" create "$1" true) || exit
	trap '"${docker[@]}" rm "$container" >/dev/null' EXIT
	"${docker[@]}" cp "$container:/husk-jupyter" - | tar -xf - -O >"$2" && chmod 0755 "$2"
)

# The command that fetch.sh needs: its line "# needs: COMMAND PACKAGE", npm if it has none.
ensure_fetcher() {
	local command=npm package=npm
	[ -f "$1" ] || return 0
	! grep -q '^# needs: ' "$1" || read -r command package < <(sed -n 's/^# needs: //p' "$1")
	command -v "$command" >/dev/null || apt_install "$package" "$package"
}

# Without a context, every byte that goes in is named in the Dockerfile. Otherwise fetch.sh fills one on the host.
build_packages() (
	base=$1 tag=$2 folder=$3 recipe=$4 network=default
	bridge_resolves "$base" || network=host
	build=("${docker[@]}" build "${builder_options[@]}" --network "$network" --build-arg "BASE=$base" --tag "$tag")
	if [ ! -f "$folder/fetch.sh" ]; then
		"${build[@]}" - <"$folder/$recipe"
		exit
	fi
	context=$(mktemp -d) || exit
	trap 'rm -rf "$context"' EXIT
	"$folder/fetch.sh" "$context" "$("${docker[@]}" version --format '{{.Server.Arch}}')" &&
		"${build[@]}" --file "$folder/$recipe" "$context"
)

# On some machines names only resolve on the host.
bridge_resolves() {
	# shellcheck disable=SC2016
	"${docker[@]}" run --rm --entrypoint sh "$1" -c '
		host=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
			sed -n "s,.*https*://\([^/ ]*\).*,\1,p" | head -n 1)
		getent hosts "$host"'
}

# Chained by && throughout: a function that is tested for success runs without `set -e`.
build_kernel() (
	packages=$1 tag=$2 folder=$3 client=$4 adapter=$6
	IFS=: read -ra tools <<<"$5"
	shift 6
	context=$(mktemp -d) || exit
	trap 'rm -rf "$context"' EXIT
	mkdir "$context/kernel" "$context/tools" &&
		cp "$client" "$context/husk-client" &&
		cp "${tools[@]}" "$context/tools/" &&
		cp "$folder/runtime.json" "$context/" &&
		echo nameserver 127.0.0.1 >"$context/resolv.conf" &&
		{ [ $# = 0 ] || tar -C "$folder" -cf - -- "$@" | tar -C "$context/kernel" -xf -; } &&
		{ [ "$adapter" = - ] || take_adapter "$adapter" "$context/kernel/husk-jupyter"; } &&
		"${docker[@]}" build "${builder_options[@]}" --network none --build-arg "PACKAGES=$packages" --tag "$tag" \
			--file "$here/runtimes/Dockerfile.kernel" "$context"
)

# Each build of husk-client makes a new image. Kept: the current one, the newest other, those of the last hour
# (another checkout may be using them) and those that a container uses. Only husk-NAME is considered.
prune() {
	local name=$1 current=$2 others=0 tag created
	while IFS=$'\t' read -r tag created; do
		[ "$tag" != "$current" ] || continue
		others=$((others + 1))
		[ "$others" -gt 1 ] || continue
		created=$(date -d "${created% *}" +%s 2>/dev/null) || continue
		[ $(($(date +%s) - created)) -gt 3600 ] || continue
		[ -z "$("${docker[@]}" ps --all --quiet --filter "ancestor=$tag")" ] || continue
		note "removing the old image $tag"
		"${docker[@]}" rmi "$tag" >/dev/null || true
	done < <("${docker[@]}" images --format '{{.Repository}}:{{.Tag}}{{"\t"}}{{.CreatedAt}}' "husk-$name")
}

while [ $# -gt 0 ]; do
	case $1 in
	--engine-only) engine_only=true ;;
	--runtime) only_runtime=${2:?--runtime needs a name} && shift ;;
	--images) images=${2:?--images needs a file} && shift ;;
	--push) push=${2:?--push needs a registry} && shift ;;
	--podman) use_podman ;;
	--pool) pool=${2:?--pool needs a list of hosts} && shift ;;
	--logs) logs=${2:?--logs needs a directory} && shift ;;
	--help | -h) usage && exit 0 ;;
	*) usage >&2 && exit 64 ;;
	esac
	shift
done

if [ -n "$pool" ]; then
	ensure_pool "$pool"
	exit
fi
ensure_engine
"$engine_only" || ensure_images
[ -z "$push" ] || push_images
! "$needs_group" || join_group
