#!/usr/bin/env bash
# A Kubernetes cluster of two nodes on this machine, for the tests. Needs root, Docker's containerd and runc, and network
# namespaces, and touches no network of the machine beside a bridge of its own.
#
#   cluster.sh up FOLDER      starts everything, writes FOLDER/kubeconfig and FOLDER/registry, and returns
#   cluster.sh down FOLDER    ends it
#   cluster.sh start|stop FOLDER NAME    one part: apiserver, n1-kubelet, n2-kubelet, …
#   cluster.sh crash|boot FOLDER NODE    a whole node with its pods
#   cluster.sh cut|join FOLDER NODE      takes a node's network away, and gives it back
#   cluster.sh routes FOLDER on|off      whether pods that are created from now on have a route out
#
# What the registry and the nodes have stored is kept beside the programs, so that images are copied once.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command=$1 D=$2
bin=$("$here/build.sh")
kept=$(dirname "$bin")
host=10.199.0.1 port=16443 registry_port=15000 etcd_port=12379
api=https://$host:$port
nodes=(n1 n2)
export KUBECONFIG=$D/kubeconfig

start() { # NAME COMMAND...: runs it in the background
	local name=$1
	shift
	setsid "$@" >>"$D/log/$name.log" 2>&1 9>&- &
	echo $! >"$D/pid/$name"
}

stop() { # NAME
	local pid
	pid=$(cat "$D/pid/$1" 2>/dev/null) || return 0
	kill "$pid" 2>/dev/null || return 0
	timeout 15 tail --pid="$pid" -f /dev/null || kill -KILL "$pid"
}

wait_until() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { echo "cluster: never true: $*" >&2; return 1; }
		read -rt 0.1 <> <(:) || true
	done
}

# --- keys

certificate() { # NAME SUBJECT
	openssl req -newkey rsa:2048 -nodes -keyout "$D/$1.key" -out "$D/$1.csr" -subj "$2" 2>/dev/null
	openssl x509 -req -in "$D/$1.csr" -CA "$D/ca.crt" -CAkey "$D/ca.key" -CAcreateserial -days 30 -out "$D/$1.crt" 2>/dev/null
}

kubeconfig() { # FILE TOKEN
	cat >"$1" <<-X
		apiVersion: v1
		kind: Config
		clusters: [{name: c, cluster: {server: "$api", insecure-skip-tls-verify: true}}]
		users: [{name: u, user: {token: $2}}]
		contexts: [{name: x, context: {cluster: c, user: u, namespace: husk}}]
		current-context: x
	X
	chmod 600 "$1"
}

make_keys() {
	openssl req -x509 -newkey rsa:2048 -nodes -days 30 -keyout "$D/ca.key" -out "$D/ca.crt" -subj /CN=husk-test 2>/dev/null
	certificate kubelet-client "/O=system:masters/CN=kubelet-client"
	openssl genrsa -out "$D/accounts.key" 2048 2>/dev/null
	: >"$D/tokens.csv"
	token() { # NAME GROUP FILE
		local token
		token=$(openssl rand -hex 16)
		echo "$token,$1,$1,\"$2\"" >>"$D/tokens.csv"
		kubeconfig "$3" "$token"
	}
	token admin system:masters "$D/kubeconfig"
	token husk-user husk-team "$D/user.conf"
	for node in "${nodes[@]}"; do token "system:node:$node" system:nodes "$D/$node.conf"; done
	chmod 600 "$D/tokens.csv"
}

# --- the control plane

start_etcd() {
	start etcd "$bin/etcd" --data-dir "$D/etcd" --listen-client-urls http://127.0.0.1:$etcd_port \
		--advertise-client-urls http://127.0.0.1:$etcd_port --listen-peer-urls http://127.0.0.1:12380 \
		--initial-advertise-peer-urls http://127.0.0.1:12380 \
		--initial-cluster default=http://127.0.0.1:12380 --unsafe-no-fsync
}

start_apiserver() {
	start apiserver "$bin/kube-apiserver" --etcd-servers=http://127.0.0.1:$etcd_port --bind-address=$host \
		--advertise-address=$host --secure-port=$port --cert-dir="$D/cert" --token-auth-file="$D/tokens.csv" \
		--authorization-mode=Node,RBAC --service-account-issuer=https://husk.test \
		--service-account-key-file="$D/accounts.key" --service-account-signing-key-file="$D/accounts.key" \
		--kubelet-preferred-address-types=InternalIP --service-cluster-ip-range=10.200.0.0/24 \
		--enable-admission-plugins=NodeRestriction --allow-privileged=false --client-ca-file="$D/ca.crt" \
		--kubelet-client-certificate="$D/kubelet-client.crt" --kubelet-client-key="$D/kubelet-client.key"
	wait_until 90 curl -skf $api/readyz
}

start_controllers() {
	local files=(--kubeconfig="$KUBECONFIG" --authentication-kubeconfig="$KUBECONFIG"
		--authorization-kubeconfig="$KUBECONFIG" --leader-elect=false --bind-address=127.0.0.1)
	start controllers "$bin/kube-controller-manager" "${files[@]}" --secure-port=16257 \
		--service-account-private-key-file="$D/accounts.key" --use-service-account-credentials=false \
		--node-monitor-grace-period=16s --node-monitor-period=2s
	start scheduler "$bin/kube-scheduler" "${files[@]}" --secure-port=16259
}

start_registry() {
	rm -rf "$kept/registry/docker/registry/v2/repositories/husk/husk-deps"
	cat >"$D/registry.yml" <<-X
		version: 0.1
		storage: {filesystem: {rootdirectory: $kept/registry}, delete: {enabled: true}}
		http: {addr: "0.0.0.0:$registry_port"}
	X
	start registry "$bin/docker-registry" serve "$D/registry.yml"
	echo "localhost:$registry_port" >"$D/registry"
}

# --- nodes

make_network() {
	ip link add huskk8s0 type bridge
	ip addr add $host/24 dev huskk8s0
	ip link set huskk8s0 up
	local i=11 node
	for node in "${nodes[@]}"; do
		ip netns add "husk-$node"
		ip link add "hv-$node" type veth peer name eth0 netns "husk-$node"
		ip link set "hv-$node" master huskk8s0 up
		ip -n "husk-$node" link set lo up
		ip -n "husk-$node" addr add 10.199.0.$i/24 dev eth0
		ip -n "husk-$node" link set eth0 up
		i=$((i + 1))
	done
}

# Pods get an address of their own. Without a route they reach nothing else, as with an enforced policy.
write_network_plugin() { # NODE SUBNET [ROUTES]
	cat >"$D/$1/cni/10-husk.conflist" <<-X
		{"cniVersion": "0.4.0", "name": "husk", "plugins": [{"type": "ptp", "ipam": {"type": "host-local",
		"dataDir": "$D/$1/ipam", "ranges": [[{"subnet": "$2"}]]${3:-}}}]}
	X
}

write_node() { # NODE IP SUBNET
	local N=$1 W=$D/$1
	mkdir -p "$W/cni" "$W/manifests"
	write_network_plugin "$N" "$3"
	cat >"$W/containerd.toml" <<-X
		version = 2
		root = "$kept/$N"
		state = "/run/husk-$N"
		[grpc]
		address = "/run/husk-$N.sock"
		[plugins."io.containerd.grpc.v1.cri"]
		sandbox_image = "localhost/husk-pause:1"
		restrict_oom_score_adj = true
		disable_apparmor = true
		stream_server_address = "127.0.0.1"
		[plugins."io.containerd.grpc.v1.cri".cni]
		bin_dir = "$bin"
		conf_dir = "$W/cni"
		[plugins."io.containerd.grpc.v1.cri".registry.mirrors."localhost:$registry_port"]
		endpoint = ["http://$host:$registry_port"]
	X
	cat >"$W/kubelet.yaml" <<-X
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		cgroupDriver: cgroupfs
		cgroupRoot: /husk-$N
		failSwapOn: false
		featureGates: {KubeletInUserNamespace: true}
		enforceNodeAllocatable: []
		address: $2
		port: 10250
		readOnlyPort: 0
		healthzPort: 0
		authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $D/ca.crt}}
		authorization: {mode: Webhook}
		containerRuntimeEndpoint: unix:///run/husk-$N.sock
		maxPods: 110
		evictionHard: {nodefs.available: 1Gi, imagefs.available: 1Gi, memory.available: 200Mi}
		nodeStatusUpdateFrequency: 4s
		serializeImagePulls: false
		resolvConf: ""
	X
	cat >"$W/up.sh" <<-X
		hostname $N
		for f in kernel/panic kernel/panic_on_oops vm/overcommit_memory vm/panic_on_oom; do
			cat /proc/sys/\$f >$W/\$(basename \$f)
			mount --bind $W/\$(basename \$f) /proc/sys/\$f
		done
		echo \$\$ >/sys/fs/cgroup/memory/husk-$N/daemons/cgroup.procs
		exec containerd -c $W/containerd.toml
	X
}

make_cgroups() { # NODE
	local folder
	for c in cpu cpuacct cpuset memory devices freezer blkio pids systemd hugetlb; do
		folder=/sys/fs/cgroup/$c/husk-$1
		[ -d "/sys/fs/cgroup/$c" ] || continue
		mkdir -p "$folder"
		[ $c != cpuset ] || { cat "$folder/../cpuset.cpus" >"$folder/cpuset.cpus"; cat "$folder/../cpuset.mems" >"$folder/cpuset.mems"; }
	done
	mkdir -p "/sys/fs/cgroup/memory/husk-$1/daemons"
}

# Pods of an earlier cluster: only images are kept.
forget_pods() { # NODE
	local socket=/run/husk-$1.sock
	ctr -a "$socket" -n k8s.io containers ls -q | xargs -r ctr -a "$socket" -n k8s.io containers rm >/dev/null || true
}

start_containerd() { # NODE
	local socket=/run/husk-$1.sock
	make_cgroups "$1"
	start "$1-containerd" nsenter --net="/run/netns/husk-$1" unshare --uts --mount --propagation private \
		sh "$D/$1/up.sh"
	wait_until 60 ctr -a "$socket" version
}

load_pause() { # NODE
	tar -c -C "$bin" pause | docker import -c 'ENTRYPOINT ["/pause"]' - localhost/husk-pause:1 >/dev/null
	docker save localhost/husk-pause:1 | ctr -a "/run/husk-$1.sock" -n k8s.io images import - >/dev/null
}

start_kubelet() { # NODE IP
	start "$1-kubelet" nsenter -t "$(cat "$D/pid/$1-containerd")" --net --mount --uts "$bin/kubelet" \
		--config="$D/$1/kubelet.yaml" --kubeconfig="$D/$1.conf" --root-dir="$D/$1/kubelet" \
		--cert-dir="$D/$1/pki" --hostname-override="$1" --node-ip="$2" --node-labels=husk.dev/sandbox=true -v=2
}

ready_nodes() {
	[ "$("$bin/kubectl" get nodes --no-headers | grep -cw Ready)" = ${#nodes[@]} ]
}

up() {
	mkdir -p "$D/log" "$D/pid"
	make_keys
	make_network
	start_registry
	start_etcd
	start_apiserver
	start_controllers
	start_new_node n1 10.199.0.11 10.201.11.0/24
	start_new_node n2 10.199.0.12 10.201.12.0/24
	wait_until 120 ready_nodes
}

start_new_node() { # NODE IP SUBNET
	write_node "$@"
	rm -rf "$kept/$1"/io.containerd.grpc.v1.cri/{containers,sandboxes}
	start_containerd "$1"
	forget_pods "$1"
	load_pause "$1"
	start_kubelet "$1" "$2"
}

# Everything that a node runs is in its cgroups, except the kubelet.
kill_processes() { # NODE
	local pids
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		pids=$(find "/sys/fs/cgroup/memory/husk-$1" -name cgroup.procs -exec cat {} + 2>/dev/null)
		[ -n "$pids" ] || break
		echo "$pids" | xargs -r kill -KILL 2>/dev/null || true
		read -rt 0.2 <> <(:) || true
	done
}

# The power of a node fails.
crash() { # NODE
	kill -KILL "$(cat "$D/pid/$1-kubelet")" 2>/dev/null || true
	kill_processes "$1"
}

boot() { # NODE
	start_containerd "$1"
	start_kubelet "$1" "10.199.0.1${1#n}"
}

end_node() { # NODE
	stop "$1-kubelet"
	kill_processes "$1"
	grep -o " $D/[^ ]* \| /run/husk-$1/[^ ]* " /proc/self/mounts | sort -r | xargs -r umount -l 2>/dev/null || true
	find /sys/fs/cgroup/*/"husk-$1" -depth -type d -exec rmdir {} \; 2>/dev/null || true
	rm -rf "/run/husk-$1" "/run/husk-$1.sock" "/run/husk-$1.sock.ttrpc"
	ip netns del "husk-$1" 2>/dev/null || true
}

down() {
	for node in "${nodes[@]}"; do end_node "$node"; done
	for part in scheduler controllers apiserver etcd registry; do stop $part; done
	ip link del huskk8s0 2>/dev/null || true
	docker rmi localhost/husk-pause:1 >/dev/null 2>&1 || true
}

case $command in
up) up ;;
down) down ;;
start)
	case $3 in
	apiserver) start_apiserver ;;
	n1-kubelet) start_kubelet n1 10.199.0.11 ;;
	n2-kubelet) start_kubelet n2 10.199.0.12 ;;
	esac
	;;
stop) stop "$3" ;;
crash) crash "$3" ;;
boot) boot "$3" ;;
cut) ip link set "hv-$3" down ;;
join) ip link set "hv-$3" up ;;
routes)
	for i in 11 12; do
		write_network_plugin "n$((i - 10))" "10.201.$i.0/24" "$([ "$3" = off ] || echo ', "routes": [{"dst": "0.0.0.0/0"}]')"
	done
	;;
esac
