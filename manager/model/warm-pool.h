/* WARM_POOL: how many containers are kept ready for which runtimes. "python:1,node:0-2": one Python from the moment somebody is there, and
 * up to two of Node once somebody has used Node; "off": none. */
#ifndef HUSK_MANAGER_MODEL_WARM_POOL_H
#define HUSK_MANAGER_MODEL_WARM_POOL_H

#include "base/fail.h"
#include "manager/model/runtime.h"

/* More runtimes than any build has. */
#define WARM_POOL_RUNTIMES 16
#define WARM_POOL_MAX 100
#define WARM_POOL_DEFAULT "python:0-3"

struct warm_pool {
	struct warm_size {
		const struct runtime *runtime;
		uint64_t min; /* there as long as somebody is */
		uint64_t max; /* while the runtime is used; never less than min */
	} v[WARM_POOL_RUNTIMES];
	size_t n;
};

/* text NULL = the default. -1 with f, which names the setting. */
int warm_pool_parse(struct warm_pool *ret, const char *text, struct fail *f);

#endif
