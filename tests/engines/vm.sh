#!/usr/bin/env bash
# Boots Debian 13 with systemd, cgroup v2, AppArmor and Docker in a virtual machine, and runs vm-inside.sh in it: vm.sh REPORT
# QEMU emulates a processor, so no /dev/kvm is needed. QEMU, the system and Husk's images are kept below the cache of
# fetch.sh. REPORT gets what vm-inside.sh prints; the console is in $cache/vm-console.log.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=${HUSK_ENGINES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/husk-engines}
build=$top/${BUILD:-build}
report=$1
languages=(python node r)
packages=systemd-sysv,dbus,udev,kmod,iproute2,procps,initramfs-tools,linux-image-cloud-amd64,docker.io,docker-cli,apparmor,iptables,ca-certificates
minutes=90

# The archive that this machine's apt uses.
archive() { apt-get indextargets --format "\$(SITE) \$(ORIGIN)" 'Created-By: Packages' | sed -n 's/ Debian$//p' | head -n 1; }

# make_disk FOLDER SIZE FILE
make_disk() { mke2fs -q -t ext4 -d "$1" "$3.new" "$2" && mv "$3.new" "$3"; }

# The system, without Husk.
make_system() {
	local root=$cache/vm-root
	rm -rf "$root"
	mmdebstrap --quiet --variant=minbase --include="$packages" --aptopt='Acquire::Check-Valid-Until "false"' trixie "$root" \
		"deb $(archive) trixie main"
	echo husk-vm >"$root/etc/hostname"
	printf '/dev/vda / ext4 defaults 0 0\n/dev/vdb /data ext4 defaults 0 0\n' >"$root/etc/fstab"
	mkdir -p "$root/data" "$root/etc/docker" "$root/etc/systemd/system/docker.service.d"
	echo '{"data-root": "/data/docker"}' >"$root/etc/docker/daemon.json"
	printf '[Unit]\nRequiresMountsFor=/data\n[Service]\nTimeoutStartSec=900\n' >"$root/etc/systemd/system/docker.service.d/husk.conf"
	cat >"$root/etc/systemd/system/husk-vm.service" <<-END
		[Unit]
		After=docker.service
		Wants=docker.service
		[Service]
		Type=oneshot
		ExecStart=/data/husk/vm-inside.sh
		ExecStopPost=/usr/bin/systemctl --no-block poweroff
		StandardOutput=file:/dev/ttyS1
		StandardError=file:/dev/ttyS1
		[Install]
		WantedBy=multi-user.target
	END
	ln -s ../husk-vm.service "$root/etc/systemd/system/multi-user.target.wants/"
	cp -L "$root/vmlinuz" "$cache/vm-kernel"
	cp -L "$root/initrd.img" "$cache/vm-initrd"
	make_disk "$root" 3G "$cache/vm-system.raw"
	rm -rf "$root"
}

# Docker's data folder with Husk's images, and Husk with the libraries of this machine.
make_data() {
	local data=$cache/vm-data tags
	rm -rf "$data" "$cache/vm-state"
	mapfile -t tags < <(python3 -c 'import json, sys
for image in json.load(open(sys.argv[1], encoding="utf-8")):
    print(image["tag"]) if image["name"] in sys.argv[2:] else None' "$build/images.json" "${languages[@]}")
	mkdir -p "$data/husk/lib" "$cache/vm-state"
	docker save "${tags[@]}" >"$cache/vm-images.tar"
	HUSK_WITH_STATE=$cache/vm-state "$here/with.sh" docker26 docker load --quiet --input "$cache/vm-images.tar"
	rm "$cache/vm-images.tar"
	mv "$cache/vm-state/data" "$data/docker"
	cp "$build/husk" "$here/vm-inside.sh" "$data/husk/"
	ldd "$build/husk" | awk '$3 ~ /^\// && $1 !~ /^lib(c|m|dl|pthread|rt)\.so/ { print $3 }' | xargs -r cp -L -t "$data/husk/lib"
	make_disk "$data" 8G "$cache/vm-data.raw"
	rm -rf "$data" "$cache/vm-state"
}

# Debian 13's QEMU with its libraries. The kernel crashes in the emulation of QEMU 7.2.
make_qemu() {
	rm -rf "$cache/vm-qemu.new"
	mmdebstrap --quiet --variant=extract --include=qemu-system-x86 --aptopt='Acquire::Check-Valid-Until "false"' trixie "$cache/vm-qemu.new" \
		"deb $(archive) trixie main"
	mv "$cache/vm-qemu.new" "$cache/vm-qemu"
}

boot() {
	local qemu=$cache/vm-qemu
	: >"$report"
	timeout $((minutes * 60)) nice -n 5 "$qemu/usr/lib64/ld-linux-x86-64.so.2" --library-path "$qemu/usr/lib/x86_64-linux-gnu" \
		"$qemu/usr/bin/qemu-system-x86_64" -L "$qemu/usr/share/seabios" -L "$qemu/usr/share/qemu" \
		-accel tcg -cpu Nehalem -smp 1 -m 3072 -nodefaults -display none -no-reboot -kernel "$cache/vm-kernel" -initrd "$cache/vm-initrd" \
		-append "root=/dev/vda rw console=ttyS0 panic=-1 apparmor=1 security=apparmor systemd.default_timeout_start_sec=900 systemd.default_device_timeout_sec=900" \
		-drive "file=$cache/vm-system.raw,if=virtio,format=raw,snapshot=on" \
		-drive "file=$cache/vm-data.raw,if=virtio,format=raw,snapshot=on" \
		-serial "file:$cache/vm-console.log" -serial "file:$report"
}

mkdir -p "$cache"
exec 7>"$cache/lock-vm"
flock 7
stamp=$(cat "$build/images.json" "$build/husk" "$here/vm.sh" "$here/vm-inside.sh" | sha256sum)
[ -d "$cache/vm-qemu" ] || make_qemu
[ -f "$cache/vm-system.raw" ] || make_system
if [ "$(cat "$cache/vm-data.stamp" 2>/dev/null)" != "$stamp" ]; then
	make_data
	echo "$stamp" >"$cache/vm-data.stamp"
fi
boot
grep -q '^done$' "$report" || { tail -n 20 "$cache/vm-console.log" && exit 1; }
