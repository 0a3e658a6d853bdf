#include "manager/registry/kept-limits.h"

#include <jansson.h>

#include "base/alloc.h"

char *kept_limits_write(const struct limits *l, bool network)
{
	return xasprintf(
		"{\"memory\":%llu,\"cpu_quota\":%llu,\"pids\":%llu,\"tmpfs\":%llu,\"home\":%llu,\"network\":%s}",
		(unsigned long long)l->memory, (unsigned long long)l->cpu_quota, (unsigned long long)l->pids,
		(unsigned long long)l->tmpfs, (unsigned long long)l->home, network ? "true" : "false");
}

static void read_one(const json_t *o, const char *name, uint64_t *at)
{
	json_int_t value = json_integer_value(json_object_get(o, name));
	if (value > 0)
		*at = (uint64_t)value;
}

bool kept_network_read(const char *text)
{
	json_auto_t *o = text ? json_loads(text, 0, NULL) : NULL;
	return !json_is_false(json_object_get(o, "network"));
}

struct limits kept_limits_read(const char *text, const struct config *config)
{
	struct limits l = limits_default(config);
	json_auto_t *o = text ? json_loads(text, 0, NULL) : NULL;
	read_one(o, "memory", &l.memory);
	read_one(o, "cpu_quota", &l.cpu_quota);
	read_one(o, "pids", &l.pids);
	read_one(o, "tmpfs", &l.tmpfs);
	read_one(o, "home", &l.home);
	return l;
}
