#!/usr/bin/env bash
# Runs a command on a machine whose container engine is another one: with.sh docker26|podman COMMAND…
# The command and the engine have namespaces of their own for processes, mounts and network, in which the engine's Debian
# packages appear to be installed and its socket is /var/run/docker.sock. Internet access goes through slirp4netns.
# Everything ends with the command. The engine's data is kept below the cache of fetch.sh, for the next run.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${HUSK_ENGINES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/husk-engines}
socket=/var/run/docker.sock
start_deadline=60

packages_of() {
	case $1 in
	docker26) "$here/fetch.sh" docker26 suite:trixie docker.io docker-cli docker-buildx containerd ;;
	podman)
		"$here/fetch.sh" podman podman crun conmon netavark aardvark-dns containernetworking-plugins \
			golang-github-containers-common
		;;
	*) echo "with.sh: there is no engine '$1'; there are docker26 and podman" >&2 && exit 64 ;;
	esac
}

# ---- outside

outside() {
	local engine=$1 packages slirp state status=0
	shift
	[ "$(id -u)" = 0 ] || exec sudo --non-interactive --preserve-env "$here/with.sh" "$engine" "$@"
	packages=$(packages_of "$engine")
	slirp=$(command -v slirp4netns) || slirp=$("$here/fetch.sh" slirp slirp4netns)/usr/bin/slirp4netns
	state=${HUSK_WITH_STATE:-$cache/$engine-state}
	mkdir -p "$state"
	exec 8>"$state/lock"
	flock 8
	scratch=$(mktemp -d /tmp/husk-with-XXXXXX)
	trap 'end_outside' EXIT
	mkfifo "$scratch/pid" "$scratch/online"
	export HUSK_WITH_PACKAGES=$packages HUSK_WITH_STATE=$state HUSK_WITH_SCRATCH=$scratch
	setpriv --pdeathsig KILL unshare --mount --net --pid --fork --kill-child --mount-proc "$here/with.sh" --inside "$engine" "$@" 8>&- &
	unshare_pid=$!
	# The first process inside is the only child of unshare.
	read -r _ <"$scratch/pid"
	init=$(pgrep --parent "$unshare_pid")
	LD_LIBRARY_PATH=$(dirname "$(dirname "$slirp")")/lib/$(uname -m)-linux-gnu \
		"$slirp" --configure --mtu=65520 --disable-host-loopback --ready-fd=9 "$init" tap0 \
		9>"$scratch/online" >"$state/slirp.log" 2>&1 8>&- &
	slirp_pid=$!
	wait "$unshare_pid" || status=$?
	exit "$status"
}

end_outside() {
	[ -z "${slirp_pid-}" ] || kill "$slirp_pid" 2>/dev/null || true
	local name top
	# Cgroups of containers that ended with the namespaces. The second name is Podman's.
	for name in "${scratch##*/}" libpod_parent; do
		for top in "/sys/fs/cgroup/$name" /sys/fs/cgroup/*/"$name"; do
			[ ! -d "$top" ] || find "$top" -depth -type d -exec rmdir {} + 2>/dev/null || true
		done
	done
	rm -rf "$scratch"
}

# ---- inside

# The packages appear to be installed: their folders lie over those of the machine, and changes go to memory.
install_inside() {
	local folder
	umount --lazy --recursive /run 2>/dev/null || true
	umount --lazy --recursive /var/lib/docker 2>/dev/null || true
	mount -t tmpfs tmpfs /run
	mkdir -p /run/lock /run/with
	mount -t tmpfs tmpfs /run/with
	for folder in usr etc; do
		mkdir -p "/run/with/$folder" "/run/with/$folder.work" "$HUSK_WITH_PACKAGES/$folder"
		mount -t overlay overlay "/$folder" \
			-o "lowerdir=$HUSK_WITH_PACKAGES/$folder:/$folder,upperdir=/run/with/$folder,workdir=/run/with/$folder.work"
	done
	rm -f /etc/resolv.conf
	echo "nameserver 10.0.2.3" >/etc/resolv.conf
	ip link set lo up
}

start_docker26() {
	dockerd --data-root "$HUSK_WITH_STATE/data" --cgroup-parent "/${HUSK_WITH_SCRATCH##*/}" >"$HUSK_WITH_STATE/log" 2>&1 &
}

# Podman asks the runtime to raise limits, which needs CAP_SYS_RESOURCE, and crun refuses machines that have cgroup
# controllers in both versions. So runc runs the containers, and the limit on processes stays as it is.
start_podman() {
	local runc
	runc=$(command -v runc)
	cat >/run/with/runc <<-END
		#!/bin/sh
		previous=
		for word; do
			case \$previous in
			--bundle | -b) config=\$word/config.json ;;
			--process | -p) config=\$word ;;
			esac
			previous=\$word
		done
		[ -z "\${config-}" ] || sed -E -i 's/,?\{"type":"RLIMIT_NPROC"[^}]*\}//; s/"rlimits":\[,/"rlimits":[/' "\$config"
		exec $runc "\$@"
	END
	chmod 0755 /run/with/runc
	cat >/etc/containers/storage.conf <<-END
		[storage]
		driver = "overlay"
		graphroot = "$HUSK_WITH_STATE/data"
		runroot = "/run/containers/storage"
	END
	cat >/etc/containers/containers.conf <<-END
		[engine]
		cgroup_manager = "cgroupfs"
		events_logger = "file"
		runtime = "runc"
		[engine.runtimes]
		runc = ["/run/with/runc"]
	END
	mkdir -p /run/podman
	ln -s /run/podman/podman.sock "$socket"
	(cd /run && exec podman system service --time 0 unix:///run/podman/podman.sock) >"$HUSK_WITH_STATE/log" 2>&1 &
}

inside() {
	local engine=$1 deadline=$((SECONDS + start_deadline)) docker
	shift
	install_inside
	echo up >"$HUSK_WITH_SCRATCH/pid"
	read -r -t 30 -n 1 _ <"$HUSK_WITH_SCRATCH/online" || echo "with.sh: no internet access" >&2
	unset DOCKER_HOST DOCKER_CONTEXT DOCKER_TLS_VERIFY DOCKER_CERT_PATH
	# The client that the packages brought, also if another one is first on the PATH.
	docker=$HUSK_WITH_PACKAGES/usr/bin
	[ ! -x "$docker/docker" ] || export PATH=$docker:$PATH
	"start_$engine"
	until docker version >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$deadline" ] || { tail -n 20 "$HUSK_WITH_STATE/log" >&2 && exit 111; }
		sleep 0.2
	done
	"$@"
}

case ${1-} in
--inside) shift && inside "$@" ;;
"" | --help | -h) sed -n '2,5s/^# //p' "$0" && exit 64 ;;
*) outside "$@" ;;
esac
