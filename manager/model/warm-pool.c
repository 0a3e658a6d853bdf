#include "manager/model/warm-pool.h"

#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/parse.h"

static int refuse(struct fail *f, const char *entry, const char *why)
{
	fail_set(f, FAIL_INVALID, "setting WARM_POOL: '%.100s' %s", entry, why);
	return fail_hint(f, "write runtimes, each with a number or a range, such as python:1,node:0-2, or 'off'");
}

static bool is_there(const struct warm_pool *p, const struct runtime *runtime)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].runtime == runtime)
			return true;
	return false;
}

/* N or N-M. */
static bool read_size(char *text, struct warm_size *ret)
{
	char *dash = strchr(text, '-');
	if (dash)
		*dash = '\0';
	return parse_u64(text, &ret->min) == 0 && parse_u64(dash ? dash + 1 : text, &ret->max) == 0 &&
	       ret->min <= ret->max && ret->max <= WARM_POOL_MAX;
}

static int add(struct warm_pool *p, const char *entry, struct fail *f)
{
	AUTO(freep) char *name = xstrdup(entry);
	char *colon = strchr(name, ':');
	if (!colon)
		return refuse(f, entry, "has no number");
	*colon = '\0';
	struct warm_size size = { .runtime = runtime_find(name) };
	if (!size.runtime)
		return refuse(f, entry, "names an unknown runtime");
	if (is_there(p, size.runtime) || p->n == ARRAY_LEN(p->v))
		return refuse(f, entry, "repeats a runtime");
	if (!read_size(colon + 1, &size))
		return refuse(f, entry, "needs a number from 0 to 100, or a range of such numbers");
	p->v[p->n++] = size;
	return 0;
}

int warm_pool_parse(struct warm_pool *ret, const char *text, struct fail *f)
{
	AUTO(freep) char *copy = xstrdup(text ? text : WARM_POOL_DEFAULT);
	struct warm_pool pool = { 0 };
	if (strcasecmp(copy, "off") != 0)
		for (char *rest = copy, *entry; (entry = strsep(&rest, ", \t"));)
			if (*entry && add(&pool, entry, f) < 0)
				return -1;
	*ret = pool;
	return 0;
}
