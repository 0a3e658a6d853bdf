#!/bin/sh
# Replaces procps' free, which reads the host's memory from /proc/meminfo: shows the session's memory. Supports units
# and -t; prints once.
unit=1024 human=0 total=0
for word; do
	case $word in
	--help | -V | --version) exec /usr/bin/free "$@" ;;
	--bytes) unit=1 ;;
	--mebi | --mega) unit=1048576 ;;
	--gibi | --giga) unit=1073741824 ;;
	--human) human=1 ;;
	--total) total=1 ;;
	--*) ;;
	-*)
		case $word in *b*) unit=1 ;; *m*) unit=1048576 ;; *g*) unit=1073741824 ;; *h*) human=1 ;; esac
		case $word in *t*) total=1 ;; esac
		;;
	esac
done
group=/sys/fs/cgroup
if [ -r $group/memory.max ]; then
	read -r limit <$group/memory.max
	read -r usage <$group/memory.current
	stat=$group/memory.stat cache=file shared=shmem
elif [ -r $group/memory/memory.limit_in_bytes ]; then
	group=$group/memory
	read -r limit <$group/memory.limit_in_bytes
	read -r usage <$group/memory.usage_in_bytes
	stat=$group/memory.stat cache=total_cache shared=total_shmem
fi
read -r _ host _ </proc/meminfo
# A limit larger than any machine means no limit.
if [ "${limit:-max}" = max ] || [ "${#limit}" -gt 15 ] || [ "$limit" -gt $((host * 1024)) ]; then
	exec /usr/bin/free "$@"
fi
exec awk -v limit="$limit" -v usage="$usage" -v cache="$cache" -v shared="$shared" -v unit=$unit -v human=$human -v total=$total '
function show(n,  at) {
	if (!human)
		return sprintf("%.0f", int(n / unit))
	for (at = 1; n >= 1024 && at < 5; at++)
		n /= 1024
	return sprintf(n < 10 && at > 1 ? "%.1f%s" : "%.0f%s", n, substr("B Ki Mi Gi Ti", at == 1 ? 1 : 3 * at - 3, at == 1 ? 1 : 2))
}
{ value[$1] = $2 }
END {
	file = value[cache] + 0
	shm = value[shared] + 0
	available = limit - usage + file - shm
	printf "%20s %11s %11s %11s %11s %11s\n", "total", "used", "free", "shared", "buff/cache", "available"
	printf "Mem:    %12s %11s %11s %11s %11s %11s\n", show(limit), show(limit - available), show(limit - usage), show(shm), show(file), show(available)
	printf "Swap:   %12s %11s %11s\n", show(0), show(0), show(0)
	if (total)
		printf "Total:  %12s %11s %11s\n", show(limit), show(limit - available), show(limit - usage)
}' "$stat"
