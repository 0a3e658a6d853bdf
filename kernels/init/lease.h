/* When PID 1 must exit without a STOP. Pure functions: clocks are arguments, a verdict is the result.
 *
 * The lease counts CLOCK_MONOTONIC from the last frame of a controller, or from the start. Before the first frame it
 * may be longer, because a cluster can take long to let a controller in. If PID 1 itself was
 * stopped (suspend, a paused container), its lease may be over although the manager is alive; PID 1 sees the gap
 * between two ticks and waits another lease/4 after waking. The lifetime counts CLOCK_BOOTTIME and is never
 * extended. A claim restarts both. */
#ifndef HUSK_KERNELS_INIT_LEASE_H
#define HUSK_KERNELS_INIT_LEASE_H

#include "base/defs.h"

/* Ticks come at least once a second, or as lease_sleep() said; a longer gap than this means that PID 1 did not
 * run. */
#define LEASE_GAP_MS 3000
/* Waits granted between two frames of a controller, so that a process that can cause gaps cannot keep the
 * container alive. */
#define LEASE_HOLDS_MAX 4

enum lease_verdict { LEASE_RUNS, LEASE_OVER, LIFETIME_OVER };

struct lease {
	uint64_t lease_ms;
	uint64_t first_ms;    /* used until the first frame, if it is longer; 0 = none */
	uint64_t lifetime_ms; /* 0 = none */
	uint64_t renewed_mono;
	uint64_t started_boot; /* start of the lifetime: the start of PID 1, or the claim */
	uint64_t ticked_boot;
	uint64_t sleep_ms; /* until the next tick; 0 = a second at most */
	uint64_t hold_until_mono;
	unsigned holds;
};

void lease_init(struct lease *l, uint64_t lease_ms, uint64_t lifetime_ms, uint64_t mono_ms, uint64_t boot_ms);
/* Until the first frame of a controller, the lease is at least this long. Call it after lease_init(). */
void lease_start_with(struct lease *l, uint64_t first_ms);
/* The container now belongs to a session: its lease and lifetime replace the first ones and start now. */
void lease_claim(struct lease *l, uint64_t lease_ms, uint64_t lifetime_ms, uint64_t mono_ms, uint64_t boot_ms);
/* A frame of the controller has arrived. */
void lease_renew(struct lease *l, uint64_t mono_ms);
/* Call it at least once a second, or after lease_sleep(). */
enum lease_verdict lease_tick(struct lease *l, uint64_t mono_ms, uint64_t boot_ms);
/* Time until the next tick, at most most_ms, for a caller that may sleep longer than a second. It is a small part
 * of what is left, so that a pause that this sleep hides cannot end the lease. Call lease_tick() after it. */
uint64_t lease_sleep(struct lease *l, uint64_t most_ms, uint64_t mono_ms, uint64_t boot_ms);
/* The remaining lifetime; 0 once it is over or if there is no limit. */
uint64_t lease_lifetime_left_ms(const struct lease *l, uint64_t boot_ms);

#endif
