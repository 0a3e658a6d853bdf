#include "kernels/init/lease.h"

void lease_init(struct lease *l, uint64_t lease_ms, uint64_t lifetime_ms, uint64_t mono_ms, uint64_t boot_ms)
{
	*l = (struct lease){
		.lease_ms = lease_ms,
		.lifetime_ms = lifetime_ms,
		.renewed_mono = mono_ms,
		.started_boot = boot_ms,
		.ticked_boot = boot_ms,
	};
}

void lease_start_with(struct lease *l, uint64_t first_ms)
{
	l->first_ms = first_ms;
}

static uint64_t length(const struct lease *l)
{
	return MAX(l->lease_ms, l->first_ms);
}

void lease_renew(struct lease *l, uint64_t mono_ms)
{
	l->first_ms = 0;
	l->renewed_mono = mono_ms;
	l->hold_until_mono = 0;
	l->holds = 0;
}

void lease_claim(struct lease *l, uint64_t lease_ms, uint64_t lifetime_ms, uint64_t mono_ms, uint64_t boot_ms)
{
	l->lease_ms = lease_ms;
	l->lifetime_ms = lifetime_ms;
	l->started_boot = boot_ms;
	lease_renew(l, mono_ms);
}

/* CLOCK_BOOTTIME shows both kinds of gap: a pause of the container and a suspend of the machine. */
static void notice_gap(struct lease *l, uint64_t mono_ms, uint64_t boot_ms)
{
	if (boot_ms - l->ticked_boot > LEASE_GAP_MS + l->sleep_ms && l->holds < LEASE_HOLDS_MAX) {
		l->hold_until_mono = mono_ms + l->lease_ms / 4;
		l->holds++;
	}
	l->ticked_boot = boot_ms;
	l->sleep_ms = 0;
}

uint64_t lease_sleep(struct lease *l, uint64_t most_ms, uint64_t mono_ms, uint64_t boot_ms)
{
	enum { TICK_MS = 1000, PART = 4 };
	uint64_t since = mono_ms - l->renewed_mono, left = since < length(l) ? length(l) - since : 0;
	if (l->lifetime_ms)
		left = MIN(left, lease_lifetime_left_ms(l, boot_ms));
	l->sleep_ms = MAX((uint64_t)TICK_MS, MIN(most_ms, left / PART));
	return l->sleep_ms;
}

enum lease_verdict lease_tick(struct lease *l, uint64_t mono_ms, uint64_t boot_ms)
{
	notice_gap(l, mono_ms, boot_ms);
	if (l->lifetime_ms && boot_ms - l->started_boot >= l->lifetime_ms)
		return LIFETIME_OVER;
	if (mono_ms - l->renewed_mono >= length(l) && mono_ms >= l->hold_until_mono)
		return LEASE_OVER;
	return LEASE_RUNS;
}

uint64_t lease_lifetime_left_ms(const struct lease *l, uint64_t boot_ms)
{
	uint64_t used = boot_ms - l->started_boot;
	return used < l->lifetime_ms ? l->lifetime_ms - used : 0;
}
