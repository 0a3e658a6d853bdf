/* kernels/init/lease, with clocks that the test controls. */
#include "kernels/init/lease.h"
#include "tests/unit/unit.h"

#define LEASE 40000u

/* Ticks every second from (mono, boot) for `seconds`; returns the first verdict that is not LEASE_RUNS. */
static enum lease_verdict run(struct lease *l, uint64_t *mono, uint64_t *boot, unsigned seconds)
{
	enum lease_verdict v = LEASE_RUNS;
	for (unsigned i = 0; i < seconds && v == LEASE_RUNS; i++) {
		*mono += 1000;
		*boot += 1000;
		v = lease_tick(l, *mono, *boot);
	}
	return v;
}

static void a_lease_ends_without_a_controller(void **state)
{
	struct lease l;
	uint64_t mono = 5000, boot = 900000;
	lease_init(&l, LEASE, 0, mono, boot);
	assert_int_equal(run(&l, &mono, &boot, 39), LEASE_RUNS);
	assert_int_equal(run(&l, &mono, &boot, 1), LEASE_OVER);
}

static void a_frame_renews_the_lease(void **state)
{
	struct lease l;
	uint64_t mono = 0, boot = 0;
	lease_init(&l, LEASE, 0, mono, boot);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(run(&l, &mono, &boot, 30), LEASE_RUNS);
		lease_renew(&l, mono);
	}
	assert_int_equal(run(&l, &mono, &boot, 39), LEASE_RUNS);
	assert_int_equal(run(&l, &mono, &boot, 1), LEASE_OVER);
}

static void the_lease_before_the_first_frame_may_be_longer(void **state)
{
	struct lease l;
	uint64_t mono = 0, boot = 0;
	lease_init(&l, LEASE, 0, mono, boot);
	lease_start_with(&l, LEASE / 2);
	assert_int_equal(run(&l, &mono, &boot, 39), LEASE_RUNS);
	assert_int_equal(run(&l, &mono, &boot, 1), LEASE_OVER);
	lease_init(&l, LEASE, 0, mono, boot);
	lease_start_with(&l, 2 * LEASE);
	assert_int_equal(run(&l, &mono, &boot, 79), LEASE_RUNS);
	assert_int_equal(run(&l, &mono, &boot, 1), LEASE_OVER);
	lease_init(&l, LEASE, 0, mono, boot);
	lease_start_with(&l, 2 * LEASE);
	lease_renew(&l, mono);
	assert_int_equal(run(&l, &mono, &boot, 39), LEASE_RUNS);
	assert_int_equal(run(&l, &mono, &boot, 1), LEASE_OVER);
}

static void a_pause_of_the_container_is_forgiven_for_a_quarter(void **state)
{
	struct lease l;
	uint64_t mono = 0, boot = 0;
	lease_init(&l, LEASE, 0, mono, boot);
	mono += 3600000;
	boot += 3600000;
	assert_int_equal(lease_tick(&l, mono, boot), LEASE_RUNS);
	assert_int_equal(run(&l, &mono, &boot, 9), LEASE_RUNS);
	assert_int_equal(run(&l, &mono, &boot, 1), LEASE_OVER);
}

static void a_suspend_before_the_end_is_forgiven_for_a_quarter(void **state)
{
	struct lease l;
	uint64_t mono = 0, boot = 0;
	lease_init(&l, LEASE, 0, mono, boot);
	assert_int_equal(run(&l, &mono, &boot, 38), LEASE_RUNS);
	boot += 7200000; /* CLOCK_MONOTONIC does not advance */
	assert_int_equal(lease_tick(&l, mono, boot), LEASE_RUNS);
	assert_int_equal(run(&l, &mono, &boot, 9), LEASE_RUNS);
	assert_int_equal(run(&l, &mono, &boot, 1), LEASE_OVER);
}

/* evidence: lease */
static void repeated_gaps_do_not_extend_a_lease(void **state)
{
	struct lease l;
	uint64_t mono = 0, boot = 0;
	unsigned gaps = 0;
	lease_init(&l, LEASE, 0, mono, boot);
	while (lease_tick(&l, mono, boot) == LEASE_RUNS && gaps < 100) {
		mono += LEASE_GAP_MS + 1;
		boot += LEASE_GAP_MS + 1;
		gaps++;
	}
	assert_true(gaps < 20);
}

static void a_late_tick_does_not_count_as_a_gap(void **state)
{
	struct lease l;
	lease_init(&l, LEASE, 0, 0, 0);
	for (uint64_t t = 0; t < LEASE; t += LEASE_GAP_MS)
		assert_int_equal(lease_tick(&l, t, t), LEASE_RUNS);
	assert_int_equal(lease_tick(&l, LEASE, LEASE), LEASE_OVER);
}

static void the_lifetime_includes_sleep_and_is_never_extended(void **state)
{
	struct lease l;
	lease_init(&l, LEASE, 100000, 0, 50000);
	assert_int_equal(lease_lifetime_left_ms(&l, 60000), 90000);
	lease_renew(&l, 1000);
	assert_int_equal(lease_tick(&l, 1000, 149999), LEASE_RUNS);
	assert_int_equal(lease_tick(&l, 1000, 150000), LIFETIME_OVER);
	assert_int_equal(lease_lifetime_left_ms(&l, 150001), 0);
}

static void a_claim_restarts_lease_and_lifetime(void **state)
{
	struct lease l;
	uint64_t mono = 0, boot = 7000;
	lease_init(&l, LEASE, 0, mono, boot);
	assert_int_equal(run(&l, &mono, &boot, 39), LEASE_RUNS);
	assert_int_equal(lease_lifetime_left_ms(&l, boot), 0);
	lease_claim(&l, 2 * LEASE, 100000, mono, boot);
	assert_int_equal(lease_lifetime_left_ms(&l, boot), 100000);
	assert_int_equal(run(&l, &mono, &boot, 79), LEASE_RUNS);
	lease_renew(&l, mono);
	assert_int_equal(run(&l, &mono, &boot, 20), LEASE_RUNS);
	assert_int_equal(run(&l, &mono, &boot, 1), LIFETIME_OVER);
}

static void a_claimed_lease_ends_by_its_own_length(void **state)
{
	struct lease l;
	uint64_t mono = 0, boot = 0;
	lease_init(&l, 10 * LEASE, 5000, mono, boot);
	assert_int_equal(run(&l, &mono, &boot, 4), LEASE_RUNS);
	lease_claim(&l, LEASE, 0, mono, boot);
	assert_int_equal(run(&l, &mono, &boot, 39), LEASE_RUNS);
	assert_int_equal(run(&l, &mono, &boot, 1), LEASE_OVER);
}

/* A resting PID 1 sleeps for a part of the remaining time, so it notices every pause that could end the lease. */
static void long_sleeps_end_in_time(void **state)
{
	struct lease l;
	uint64_t mono = 0, boot = 0;
	lease_init(&l, LEASE, 0, mono, boot);
	enum lease_verdict v = LEASE_RUNS;
	while (v == LEASE_RUNS) {
		uint64_t sleep = lease_sleep(&l, 10000, mono, boot);
		assert_in_range(sleep, 1000, 10000);
		mono += sleep;
		boot += sleep;
		v = lease_tick(&l, mono, boot);
	}
	assert_int_equal(v, LEASE_OVER);
	assert_in_range(mono, LEASE, LEASE + 1000);

	lease_init(&l, LEASE, 20000, 0, 0);
	assert_int_equal(lease_sleep(&l, 10000, 0, 0), 5000);
	/* PID 1 was stopped for the rest of the lease while it slept. */
	assert_int_equal(lease_tick(&l, LEASE, 5000 + LEASE_GAP_MS + 1), LEASE_RUNS);
	lease_init(&l, LEASE, 0, 0, 0);
	(void)lease_sleep(&l, 10000, 0, 0);
	assert_int_equal(lease_tick(&l, LEASE, LEASE), LEASE_RUNS);
	mono = boot = LEASE;
	assert_int_equal(run(&l, &mono, &boot, LEASE / 4000 - 1), LEASE_RUNS);
	assert_int_equal(run(&l, &mono, &boot, 1), LEASE_OVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lease_ends_without_a_controller),
		cmocka_unit_test(a_frame_renews_the_lease),
		cmocka_unit_test(the_lease_before_the_first_frame_may_be_longer),
		cmocka_unit_test(a_pause_of_the_container_is_forgiven_for_a_quarter),
		cmocka_unit_test(a_suspend_before_the_end_is_forgiven_for_a_quarter),
		cmocka_unit_test(repeated_gaps_do_not_extend_a_lease),
		cmocka_unit_test(a_late_tick_does_not_count_as_a_gap),
		cmocka_unit_test(the_lifetime_includes_sleep_and_is_never_extended),
		cmocka_unit_test(a_claim_restarts_lease_and_lifetime),
		cmocka_unit_test(a_claimed_lease_ends_by_its_own_length),
		cmocka_unit_test(long_sleeps_end_in_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
