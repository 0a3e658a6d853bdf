/* WARM_POOL: how many containers are kept ready for each runtime. "python:1,node:0-2" keeps one Python container
 * while a client is connected, and up to two Node containers once Node has been used; "off" keeps none. */
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
		uint64_t min; /* kept while a client is connected */
		uint64_t max; /* maximum while the runtime is used; never less than min */
	} v[WARM_POOL_RUNTIMES];
	size_t n;
};

/* text NULL = the default. -1 with f, which names the setting, if the text is invalid. */
int warm_pool_parse(struct warm_pool *ret, const char *text, struct fail *f);

#endif
