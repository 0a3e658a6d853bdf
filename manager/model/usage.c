#include "manager/model/usage.h"

#include <string.h>

void usage_add(struct usage *u, const struct usage_sample *sample)
{
	const struct usage_sample *last = u->n ? &u->v[u->n - 1] : NULL;
	if (last && sample->time_ms < last->time_ms + USAGE_STEP_MS)
		return;
	if (u->n == USAGE_SAMPLES)
		memmove(u->v, u->v + 1, (--u->n) * sizeof(*u->v));
	u->v[u->n++] = *sample;
}
