#include "base/deadline.h"

#include <time.h>

static _Thread_local uint64_t end_ns;

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void deadline_set(unsigned cpu_ms)
{
	end_ns = cpu_ms ? cpu_ns() + (uint64_t)cpu_ms * 1000000u : 0;
}

bool deadline_passed(void)
{
	return end_ns && cpu_ns() >= end_ns;
}

void deadline_note(struct buf *out, size_t bytes)
{
	buf_printf(out, "\n[… %zu bytes left out: showing them took too long …]\n", bytes);
}
