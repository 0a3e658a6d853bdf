#include "manager/model/limits.h"

#include <jansson.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "manager/model/cause.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)
/* Memory that processes need in addition to full tmpfs mounts; config.c requires the same of the settings. */
#define MEMORY_FOR_PROCESSES (256 * MIB)
/* Minimum sizes: a session needs room for at least one file. */
#define TMPFS_LEAST (32 * MIB)
#define HOME_LEAST (16 * MIB)
/* A tenth of a CPU; with less, the interpreter does not start in time. */
#define CPU_LEAST (CPU_PERIOD / 10)
/* If no setting limits it, a call may request this multiple of the default. */
#define TIMES 4u

/* One of the three limits. `fallback` is the default, `set` the operator's ceiling (0 = four times the default),
 * and `machine` what the machine has (0 = unknown). */
struct ceiling {
	const char *name;    /* the name of the argument */
	const char *setting; /* the setting that raises the ceiling */
	const char *usual;   /* the setting that is the default */
	uint64_t fallback, set, machine;
	char *(*text)(uint64_t amount);
};

char *limits_size_text(uint64_t bytes)
{
	if (bytes >= GIB && bytes % GIB == 0)
		return xasprintf("%llug", (unsigned long long)(bytes / GIB));
	if (bytes % MIB == 0)
		return xasprintf("%llum", (unsigned long long)(bytes / MIB));
	return xasprintf("%llu bytes", (unsigned long long)bytes);
}

static char *cpu_text(uint64_t quota)
{
	return xasprintf("%.6g", (double)quota / CPU_PERIOD);
}

static struct ceiling memory_ceiling(const struct config *c, uint64_t machine)
{
	return (struct ceiling){ "memory",	  "CONTAINER_MEMORY_MAX", "CONTAINER_MEMORY_LIMIT",
				 c->memory_limit, c->memory_max,	  machine,
				 limits_size_text };
}

static struct ceiling cpu_ceiling(const struct config *c, uint64_t machine)
{
	return (struct ceiling){ "cpus",       "CONTAINER_CPUS_MAX", "CONTAINER_CPU_QUOTA",
				 c->cpu_quota, c->cpus_max,	     machine * CPU_PERIOD,
				 cpu_text };
}

/* The engine does not report its disk size. CONTAINER_DISK_FLOOR protects the disk from all sessions together. */
static struct ceiling disk_ceiling(const struct config *c)
{
	return (struct ceiling){ "disk", "CONTAINER_DISK_MAX", "CONTAINER_HOME_SIZE", c->home_size, c->disk_max,
				 0,	 limits_size_text };
}

static uint64_t most(const struct ceiling *c)
{
	if (c->set)
		return c->set;
	uint64_t all = c->fallback > UINT64_MAX / TIMES ? UINT64_MAX : c->fallback * TIMES;
	if (c->machine)
		all = MIN(all, c->machine / 2);
	return MAX(all, c->fallback);
}

static int check_most(const struct ceiling *c, uint64_t wanted, struct fail *f)
{
	uint64_t limit = most(c);
	if (wanted <= limit)
		return 0;
	AUTO(freep) char *asked = c->text(wanted);
	AUTO(freep) char *allowed = c->text(limit);
	AUTO(freep) char *rule = c->set ? xasprintf("%s", c->setting) :
					  xasprintf("four times %s, at most half of the engine's machine", c->usual);
	cause_set(f, FAIL_INVALID, CAUSE_TOO_MUCH, "%s: %s is more than a session may have here, %s (%s)", c->name,
		  asked, allowed, rule);
	return fail_hint(f, "Ask for %s or less. Only the person who runs Husk can allow more, by %s in its settings.",
			 allowed, c->setting);
}

static int check_least(const struct ceiling *c, uint64_t wanted, uint64_t least, struct fail *f)
{
	if (wanted >= least)
		return 0;
	AUTO(freep) char *asked = c->text(wanted);
	AUTO(freep) char *needed = c->text(least);
	cause_set(f, FAIL_INVALID, CAUSE_TOO_LITTLE, "%s: %s is less than a session needs, %s", c->name, asked, needed);
	return fail_hint(f, "Ask for %s or more%s.", needed,
			 c->text == limits_size_text ? ", with a unit: \"512m\" or \"4g\"" : "");
}

struct limits limits_default(const struct config *c)
{
	return (struct limits){ .memory = c->memory_limit,
				.cpu_quota = c->cpu_quota,
				.pids = c->pids_limit,
				.tmpfs = c->tmpfs_size,
				.home = c->home_size };
}

/* The tmpfs size that goes with this memory: whole pages, and small enough that full mounts leave enough for
 * processes. */
static uint64_t tmpfs_for(const struct config *c, uint64_t memory)
{
	uint64_t share = (uint64_t)((long double)c->tmpfs_size * (long double)memory / (long double)c->memory_limit);
	return MIN(share, (memory - MEMORY_FOR_PROCESSES) / 2) & ~(uint64_t)0xfff;
}

static int choose_memory(struct limits *ret, const struct config *c, uint64_t wanted, struct fail *f)
{
	struct ceiling ceiling = memory_ceiling(c, /* machine= */ 0);
	uint64_t least = MEMORY_FOR_PROCESSES + 2 * MIN(TMPFS_LEAST, c->tmpfs_size);
	if (check_least(&ceiling, wanted, least, f) < 0 || check_most(&ceiling, wanted, f) < 0)
		return -1;
	ret->memory = wanted;
	ret->tmpfs = wanted == c->memory_limit ? c->tmpfs_size : tmpfs_for(c, wanted);
	return 0;
}

static uint64_t quota_of(double cpus)
{
	return cpus * CPU_PERIOD >= (double)UINT64_MAX ? UINT64_MAX : (uint64_t)(cpus * CPU_PERIOD + 0.5);
}

static int choose_cpus(struct limits *ret, const struct config *c, double cpus, struct fail *f)
{
	struct ceiling ceiling = cpu_ceiling(c, /* machine= */ 0);
	if (!(cpus > 0 && cpus < 1e9))
		return cause_set(f, FAIL_INVALID, CAUSE_TOO_MUCH, "cpus: %g is not a number of CPUs", cpus);
	uint64_t quota = quota_of(cpus);
	if (check_least(&ceiling, quota, MIN(CPU_LEAST, c->cpu_quota), f) < 0 || check_most(&ceiling, quota, f) < 0)
		return -1;
	ret->cpu_quota = quota;
	return 0;
}

static int choose_disk(struct limits *ret, const struct config *c, uint64_t wanted, struct fail *f)
{
	struct ceiling ceiling = disk_ceiling(c);
	if (check_least(&ceiling, wanted, HOME_LEAST, f) < 0 || check_most(&ceiling, wanted, f) < 0)
		return -1;
	ret->home = wanted;
	return 0;
}

int limits_choose(struct limits *ret, const struct config *c, const struct limits_wanted *wanted, struct fail *f)
{
	*ret = limits_default(c);
	if ((wanted->memory && choose_memory(ret, c, wanted->memory, f) < 0) ||
	    (wanted->cpus != 0 && choose_cpus(ret, c, wanted->cpus, f) < 0) ||
	    (wanted->disk && choose_disk(ret, c, wanted->disk, f) < 0))
		return -1;
	return 0;
}

bool limits_need_machine(const struct config *c, const struct limits_wanted *wanted)
{
	return (!c->memory_max && wanted->memory > c->memory_limit) ||
	       (!c->cpus_max && quota_of(wanted->cpus) > c->cpu_quota);
}

int limits_check_machine(const struct config *c, const struct limits_wanted *wanted, const struct limits_machine *m,
			 struct fail *f)
{
	struct ceiling memory = memory_ceiling(c, m->memory), cpus = cpu_ceiling(c, m->cpus);
	return check_most(&memory, wanted->memory, f) < 0 ? -1 : check_most(&cpus, quota_of(wanted->cpus), f);
}

/* --- in the store ------------------------------------------------------------------------------------------------- */

char *limits_to_json(const struct limits *l, const struct limits_row *row)
{
	struct buf out = { 0 };
	buf_printf(&out,
		   "{\"memory\":%llu,\"cpu_quota\":%llu,\"pids\":%llu,\"tmpfs\":%llu,\"home\":%llu,\"network\":%s",
		   (unsigned long long)l->memory, (unsigned long long)l->cpu_quota, (unsigned long long)l->pids,
		   (unsigned long long)l->tmpfs, (unsigned long long)l->home, row->network ? "true" : "false");
	/* Neither has a character that JSON escapes. */
	if (row->rules)
		buf_printf(&out, ",\"rules\":\"%s\"", row->rules);
	if (row->secrets)
		buf_printf(&out, ",\"secrets\":\"%s\"", row->secrets);
	buf_add_str(&out, "}");
	return buf_steal_str(&out);
}

char *limits_json_text(const char *text, const char *name)
{
	json_auto_t *o = text ? json_loads(text, 0, NULL) : NULL;
	const char *value = json_string_value(json_object_get(o, name));
	return value ? xstrdup(value) : NULL;
}

static void read_one(const json_t *o, const char *name, uint64_t *at)
{
	json_int_t value = json_integer_value(json_object_get(o, name));
	if (value > 0)
		*at = (uint64_t)value;
}

bool limits_json_has_network(const char *text)
{
	json_auto_t *o = text ? json_loads(text, 0, NULL) : NULL;
	return !json_is_false(json_object_get(o, "network"));
}

struct limits limits_from_json(const char *text, const struct config *config)
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
