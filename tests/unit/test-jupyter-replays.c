/* jupyter/replays: a signed message counts once. */
/* evidence: jupyter-replay */
#include "jupyter/replays.h"

#include "tests/unit/unit.h"

static bool is_first(struct replays *r, uint32_t number)
{
	struct message m = { 0 };
	for (size_t i = 0; i < sizeof(m.signature); i++)
		m.signature[i] = (uint8_t)(number >> (8 * (i % 4)));
	return replays_is_first(r, &m);
}

static void a_replayed_message_is_noticed(void **state)
{
	struct replays *r = replays_new();
	assert_true(is_first(r, 0));
	assert_true(is_first(r, 2));
	assert_false(is_first(r, 0));
	assert_false(is_first(r, 2));
	replays_free(r);
}

static void remembered_messages_are_bounded(void **state)
{
	struct replays *r = replays_new();
	for (uint32_t i = 0; i < 10 * REPLAYS_KEPT; i++) {
		assert_true(is_first(r, 2 * i));
		if (i >= REPLAYS_KEPT)
			assert_false(is_first(r, 2 * (i - REPLAYS_KEPT + 1)));
	}
	assert_true(is_first(r, 2)); /* forgotten, because it was long ago */
	replays_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_replayed_message_is_noticed),
		cmocka_unit_test(remembered_messages_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
