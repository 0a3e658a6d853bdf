/* A manager of libhusk on the fake engine, for tests. The engine runs on the library's own loop. */
#ifndef HUSK_TESTS_LIBHUSK_RIG_H
#define HUSK_TESTS_LIBHUSK_RIG_H

#include "base/alloc.h"
#include "libhusk/open.h"
#include "tests/fake-engine/fake-pid1.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

static struct fake *fake;
static char *dir, *state, *data;
static struct husk *husk;
static struct husk_conversation *conversation;

/* --- the fake session ---------------------------------------------------------------------------------------------- */

/* "print X" prints X; "pieces" prints lines in pieces; "hang" never ends by itself; all else ends at once. */
UNUSED static void on_call(struct fake_container *c, struct fake_call *call)
{
	if (strncmp(call->text, "print ", 6) == 0)
		fake_call_out(c, call, call->text + 6);
	static const char *const pieces[] = { "one", "\n", "tw", "o\nthree\nend" };
	for (size_t i = 0; i < ARRAY_LEN(pieces) && streq(call->text, "pieces"); i++)
		fake_call_out(c, call, pieces[i]);
	if (!strstr(call->text, "hang"))
		fake_call_end(c, call, "ok");
}

UNUSED static void start_fake(void *ctx UNUSED)
{
	fake_on_call = on_call;
	fake_on_interrupt = NULL;
	fake_kernel_at_start = "ready";
	fake = fake_new(thread_loop(), &fake_pid1_script);
}

UNUSED static void end_fake(void *ctx UNUSED)
{
	fake = fake_free(fake);
}

UNUSED static void count(void *ctx)
{
	*(size_t *)ctx = fake_count(fake);
}

UNUSED static size_t containers(void)
{
	size_t n = 0;
	thread_do(count, &n);
	return n;
}

/* --- setting up ---------------------------------------------------------------------------------------------------- */

UNUSED static struct husk *open_one(void)
{
	const char *values[] = { state, data, "CONTAINER_MAX_SESSIONS=50", "CONTAINER_MAX_SESSIONS_PER_THREAD=20",
				 NULL };
	struct husk *h = NULL;
	struct husk_error *e = open_on(
		&(struct husk_settings){ .size = sizeof(struct husk_settings), .values = values }, FAKE_NAME, &h);
	assert_null(e);
	return h;
}

UNUSED static int setup(void **unused)
{
	AUTO(fail_release) struct fail f = { 0 };
	char folder[] = "/tmp/husk-test-lib-XXXXXX";
	dir = xstrdup(mkdtemp(folder));
	state = xasprintf("XDG_STATE_HOME=%s", dir);
	data = xasprintf("XDG_DATA_HOME=%s", dir);
	assert_int_equal(thread_acquire(&f), 0);
	thread_do(start_fake, NULL);
	husk = open_one();
	assert_null(husk_conversation_open(husk, NULL, &conversation));
	return 0;
}

UNUSED static int teardown(void **unused)
{
	if (husk)
		assert_null(husk_close(husk));
	husk = NULL;
	thread_do(end_fake, NULL);
	thread_release();
	scratch_remove(dir);
	free(dir);
	free(state);
	free(data);
	return 0;
}

/* The caller frees it. */
UNUSED static struct husk_session *create(struct husk_conversation *c)
{
	struct husk_session *s = NULL;
	struct husk_error *e = husk_create(c, NULL, NULL, &s);
	if (e)
		fail_msg("%s: %s", e->cause, e->message);
	return s;
}

UNUSED static void expect(struct husk_error *e, const char *kind, const char *cause)
{
	if (!e)
		fail_msg("no error, where %s, %s was expected", kind, cause);
	assert_string_equal(e->kind, kind);
	assert_string_equal(e->cause, cause);
	assert_true(*e->message);
	assert_non_null(e->hint);
	husk_error_free(e);
}

#endif
