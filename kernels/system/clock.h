/* The two clocks of PID 1, in milliseconds. */
#ifndef HUSK_KERNELS_SYSTEM_CLOCK_H
#define HUSK_KERNELS_SYSTEM_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read_ms(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* For short durations. */
static inline uint64_t clock_now_us(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Does not advance while the machine is suspended: timeouts and the lease. */
static inline uint64_t clock_now_ms(void)
{
	return clock_read_ms(CLOCK_MONOTONIC);
}

/* Advances while the machine is suspended: the hard lifetime, and the gaps that show that PID 1 did not run. */
static inline uint64_t clock_boot_ms(void)
{
	return clock_read_ms(CLOCK_BOOTTIME);
}

#endif
