/* base/resolve: addresses of names. */
#include "base/resolve.h"

#include "tests/unit/unit.h"

struct asked {
	struct loop *loop;
	size_t n, done;
	struct sockaddr_storage first;
	bool temporary;
};

static void on_done(void *ctx, const struct sockaddr_storage *v, size_t n, bool temporary)
{
	struct asked *a = ctx;
	a->n = n;
	a->done++;
	if (n)
		a->first = v[0];
	a->temporary = temporary;
	loop_stop(a->loop, 0);
}

/* "localhost" needs no name server. */
static void a_name_has_addresses(void **state)
{
	struct asked a = { .loop = loop_new() };
	resolve_start(a.loop,
		      &(struct resolve_spec){
			      .name = "localhost", .port = 4711, .session = "s", .on_done = on_done, .ctx = &a });
	loop_run(a.loop);
	assert_true(a.n > 0);
	assert_true(a.first.ss_family == AF_INET || a.first.ss_family == AF_INET6);
	loop_free(a.loop);
}

static void an_abandoned_lookup_is_not_reported(void **state)
{
	struct asked a = { .loop = loop_new() }, b = { .loop = a.loop };
	struct resolve_spec spec = { .name = "localhost", .port = 1, .session = "s", .on_done = on_done, .ctx = &a };
	struct resolve *r = resolve_start(a.loop, &spec);
	assert_null(resolve_free(r));
	spec.ctx = &b;
	resolve_start(a.loop, &spec);
	loop_run(a.loop);
	assert_int_equal(a.done, 0);
	assert_int_equal(b.done, 1);
	loop_free(a.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_has_addresses),
		cmocka_unit_test(an_abandoned_lookup_is_not_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
