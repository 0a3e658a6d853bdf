#!/bin/sh
# A container without an engine: private pid, mount, network and ipc namespaces and a small root of its own.
# box.sh CLIENT KERNEL CGROUP MANIFEST [OPTION]... runs as root and as pid 1 of its namespace, and becomes PID 1 proper.
# LINE, if it is set, is the folder where a server's socket appears. DISK, if set, has folders home, deps and tmp, which
# are mounted. BOX_USER is the number of its user.
set -eu
client=$1 kernel=$2 cgroup=$3 manifest=$4
shift 4
root=/mnt user=${BOX_USER-65532}
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs $root
cd $root
mkdir -p usr etc dev proc opt/husk/deps workspace tmp home/sandbox sys
for d in bin sbin lib lib64; do [ -e /$d ] && ln -s usr/$d $d; done
mount --rbind /usr usr
mount --rbind /etc etc
mount -t tmpfs -o mode=755 tmpfs dev
for d in null zero full random urandom tty; do
	: >dev/$d
	mount --bind /dev/$d dev/$d
done
mkdir dev/pts dev/shm dev/terminals
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t devpts -o newinstance,gid=5,mode=620,ptmxmode=0666 devpts dev/pts
mount -t devpts -o newinstance,mode=600,ptmxmode=0666 devpts dev/terminals
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for n in 0:stdin 1:stdout 2:stderr; do ln -s /proc/self/fd/${n%:*} dev/${n#*:}; done
mount -t proc proc proc
mkdir opt/husk/cgroup
cp "$client" opt/husk/husk-client
chmod 0555 opt/husk/husk-client
cp "$kernel" opt/husk/kernel.py
cp "$manifest" opt/husk/runtime.json
mount --bind "$cgroup" opt/husk/cgroup
if [ -n "${LINE-}" ]; then
	mkdir -p run/husk
	mount --bind "$LINE" run/husk
	mount -o remount,bind,ro run/husk
fi
if [ -n "${DISK-}" ]; then
	rmdir home/sandbox
	mount --bind "$DISK/home" home
	mount --bind "$DISK/deps" opt/husk/deps
	mount --bind "$DISK/tmp" tmp
	chmod 1777 home
	chown $user:65532 workspace tmp opt/husk/deps
else
	chown $user:65532 workspace tmp home/sandbox opt/husk/deps
fi
ip link set lo up 2>/dev/null || true
# As the engine does for sessions.
echo 0 >proc/sys/net/ipv4/ip_unprivileged_port_start 2>/dev/null || true
cd /
exec chroot $root /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/home/sandbox LANG=C.UTF-8 HUSK_SECRET=1 \
	KUBERNETES_SERVICE_HOST=10.0.0.1 FAKE="${FAKE-}" /usr/bin/setpriv --reuid $user --regid 65532 --clear-groups --inh-caps=-all --no-new-privs \
	/opt/husk/husk-client init --cgroup /opt/husk/cgroup "$@"
