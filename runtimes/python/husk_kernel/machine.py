"""Makes psutil report the session's memory limit and use. Unchanged, it reads /proc, which shows the host's memory."""

import os

_GROUP = "/sys/fs/cgroup"
# For both versions of cgroups: the files with the limit, the usage and the statistics, and the names in the statistics
# for cached files and for files in memory.
_VERSIONS = (("memory.max", "memory.current", "memory.stat", "file", "shmem"),
             ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_cache", "total_shmem"))


def on_import(hooks):
    hooks["psutil"] = _adapt


def _read(name):
    with open(f"{_GROUP}/{name}", encoding="ascii") as file:
        return file.read()


def memory():
    """(limit, used, free, cached, shared) in bytes, or None if there is no limit."""
    for files in _VERSIONS:
        try:
            limit, usage, cached, shared = _numbers(*files)
        except (OSError, ValueError, KeyError):  # "max" means no limit
            continue
        return limit, usage - cached + shared, limit - usage, cached, shared
    return None


def _numbers(limit, usage, stat, cached, shared):
    values = dict(line.split() for line in _read(stat).splitlines())
    return int(_read(limit)), int(_read(usage)), int(values[cached]), int(values[shared])


def _adapt(psutil):
    virtual_memory, cpu_count = psutil.virtual_memory, psutil.cpu_count

    def session_memory():
        host, found = virtual_memory(), memory()
        if found is None or found[0] >= host.total:
            return host
        limit, used, free, cached, shared = found
        return host._replace(total=limit, available=limit - used, percent=round(100 * used / limit, 1), used=used, free=free,
                             cached=cached, shared=shared)

    def session_cpus(logical=True):
        count = cpu_count(logical)
        return min(count, os.cpu_count() or count) if count else count

    psutil.virtual_memory, psutil.cpu_count = session_memory, session_cpus
