#!/usr/bin/env bash
# Runs in the virtual machine of vm.sh. Prints NAME: VALUE, which test_vm.py checks, and "done" at its end.
export HOME=/root LD_LIBRARY_PATH=/data/husk/lib PATH=/data/husk:$PATH WARM_POOL=off
export CONTAINER_EXECUTION_TIMEOUT_SECONDS=280 CONTAINER_NETWORK_ENABLED=false CONTAINER_MEMORY_LIMIT=768m CONTAINER_TMPFS_SIZE=100m

report() { printf '%s: %s\n' "$1" "$2"; }
seconds() { cut -d. -f1 /proc/uptime; }

# run NAME LANGUAGE: runs the program on standard input in a session of its own; reports output, status and time. If the
# emulated machine was too slow to start the session (status 111), it tries again.
run() {
	local name=$1 language=$2 program out status=111 began try
	program=$(cat)
	for ((try = 0; try < 5 && status == 111; try++)); do
		began=$(seconds)
		out=$(husk run --language "$language" - <<<"$program" 2>/dev/null)
		status=$?
	done
	report "$name" "$(tr '\n' '|' <<<"$out") status $status in $(($(seconds) - began)) s"
}

report up "$(seconds) s"
report kernel "$(uname -r)"
report cgroups "$(stat -f -c %T /sys/fs/cgroup)"
report apparmor "$(cat /sys/module/apparmor/parameters/enabled)"
report systemd "$(systemctl --version | head -n 1)"
report docker "$(docker version --format '{{.Server.Version}}')"
report info "$(docker info --format 'cgroup {{.CgroupVersion}} {{.CgroupDriver}} {{.SecurityOptions}}')"
husk doctor 2>&1 | sed 's/^/doctor: /'
run limits python <<'END'
import pathlib
group = pathlib.Path("/sys/fs/cgroup")
for name in ("memory.max", "memory.swap.max", "memory.current", "pids.max", "pids.current", "cpu.max", "memory.events"):
    try:
        print(name, group.joinpath(name).read_text().strip().replace("\n", ","))
    except OSError as error:
        print(name, error.strerror)
print("profile", pathlib.Path("/proc/self/attr/current").read_text().strip())
END
run python python <<<'print(sum(range(10)))'
run node node <<<'console.log(6 * 7)'
run r r <<<'cat(mean(c(1, 3)), "\n")'
run memory python <<<'x = b"x" * (1 << 30); print(len(x))'
run child python <<'END'
import subprocess, sys
print(subprocess.run([sys.executable, "-c", "b'x' * (1 << 30)"]).returncode)
END
run pids python <<'END'
import os, signal
children = []
try:
    while len(children) < 2000:
        child = os.fork()
        if not child:
            signal.pause()
        children.append(child)
except OSError as error:
    print("fork", error.strerror, len(children) < 512)
for child in children:
    os.kill(child, signal.SIGKILL)
END
# The figures of an idle session. The program waits for its input, which this script keeps open.
mkfifo /tmp/input
husk run --language python - </tmp/input >/tmp/idle 2>&1 &
exec 5>/tmp/input
until [ -n "$(docker ps --quiet)" ]; do sleep 1; done
until husk ps --json | grep -q '"memory": [1-9]'; do sleep 2; done
report idle "$(husk ps --json | tr -d '\n')"
report stats "$(docker stats --no-stream --format '{{.MemUsage}}')"
container=$(docker ps --quiet --no-trunc)
group=$(find /sys/fs/cgroup -type d -name "*$container*" | head -n 1)
for name in memory.current memory.peak memory.max pids.current pids.max; do
	report "$name" "$(cat "$group/$name")"
done
report memory.stat "$(grep -E '^(anon|file|kernel|slab|sock) ' "$group/memory.stat" | tr '\n' ',')"
echo 'print(1)' >&5
exec 5>&-
wait
report after "$(tr '\n' '|' </tmp/idle) containers $(docker ps --all --quiet | wc -l)"
echo "done"
