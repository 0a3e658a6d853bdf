/* Samples of a session's memory and processor time, the oldest first, for small charts. */
#ifndef HUSK_MANAGER_MODEL_USAGE_H
#define HUSK_MANAGER_MODEL_USAGE_H

#include "base/defs.h"

#define USAGE_SAMPLES 60
/* Samples are at least this far apart. */
#define USAGE_STEP_MS 1000

struct usage {
	struct usage_sample {
		uint64_t time_ms; /* wall clock */
		uint64_t memory;  /* bytes */
		uint64_t cpu_us;  /* processor time since the container started; 0 = unknown */
	} v[USAGE_SAMPLES];
	size_t n;
};

/* Drops the oldest sample if there are too many. */
void usage_add(struct usage *u, const struct usage_sample *sample);

#endif
