#!/usr/bin/env bash
# Builds the programs of the test cluster from the Go module proxy, once for each go.sum, and prints their folder. The
# first build takes 6 to 20 minutes and 3 GB; the folder is outside the tree, so later runs find it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${HUSK_CLUSTER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/husk-cluster}
bin=$cache/bin-$(sha256sum "$here/kubernetes/go.sum" | cut -c1-16)
version=$(sed -n 's|^require k8s.io/kubernetes ||p; s|^\tk8s.io/kubernetes \(v[^ ]*\)$|\1|p' "$here/kubernetes/go.mod" | head -1)
programs=(k8s.io/kubernetes/cmd/{kube-apiserver,kubelet,kubectl,kube-controller-manager,kube-scheduler}
	go.etcd.io/etcd/server/v3
	github.com/containernetworking/plugins/plugins/{main/ptp,main/loopback,ipam/host-local})

build() {
	local component=k8s.io/component-base/version folder
	export GOPATH=$cache/gopath GOCACHE=$cache/gocache GOMODCACHE=$cache/gomod CGO_ENABLED=0 GOTOOLCHAIN=local
	export GOFLAGS="-buildvcs=false -mod=readonly -p=2"
	local flags="-s -w -X $component.gitVersion=$version -X $component.gitMajor=1 -X $component.gitMinor=34"
	folder=$(mktemp -d "$cache/new-XXXXXX")
	cd "$here/kubernetes"
	for program in "${programs[@]}"; do
		nice -n 15 go build -trimpath -ldflags "$flags" -o "$folder/" "$program"
	done
	# The module's folder is called server.
	[ ! -e "$folder/v3" ] || mv "$folder/v3" "$folder/etcd"
	[ ! -e "$folder/server" ] || mv "$folder/server" "$folder/etcd"
	# The container of each pod's namespaces.
	printf '#include <signal.h>\n#include <unistd.h>\nstatic void on(int s){_exit(0);}\n%s\n' \
		'int main(void){signal(SIGTERM,on);signal(SIGINT,on);signal(SIGCHLD,SIG_IGN);for(;;)pause();}' |
		cc -static -Os -x c - -o "$folder/pause"
	fetch_registry "$folder"
	mv -T "$folder" "$bin"
}

# Debian's package, unpacked beside the rest and not installed.
fetch_registry() {
	local folder
	folder=$(mktemp -d)
	(cd "$folder" && apt-get download -qq docker-registry >/dev/null && dpkg-deb -x docker-registry_*.deb .)
	mv "$folder/usr/bin/docker-registry" "$1/docker-registry"
	rm -r "$folder"
}

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ ! -d "$bin" ]; then
	began=$SECONDS
	build >&2
	echo "built Kubernetes $version in $((SECONDS - began)) s" >&2
fi
echo "$bin"
