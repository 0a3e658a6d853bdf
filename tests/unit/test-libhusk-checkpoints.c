/* libhusk's calls about checkpoints, on the fake engine. Its session has one checkpoint, "a", after run 1. */
#include "kernels/protocol.h"
#include "tests/unit/libhusk-rig.h"

static void is_the_only_one(const struct husk_checkpoint *c)
{
	assert_string_equal(c->name, "a");
	assert_int_equal(c->run, 1);
	assert_int_equal(c->age_ms, 7);
	assert_int_equal(c->bytes, 4096);
	assert_int_equal(c->n_lost, 1);
	assert_string_equal(c->lost[0], "a thread");
}

static void a_checkpoint_is_made_and_listed(void **unused)
{
	struct husk_session *s = create(conversation);
	struct husk_checkpoints *c = NULL;
	assert_null(husk_checkpoint(conversation, s->id, "a", NULL, &c));
	is_the_only_one(c->saved);
	assert_int_equal(c->n, 1);
	is_the_only_one(c->v[0]);
	assert_true(!c->restored && !c->note);
	husk_checkpoints_free(c);
	husk_checkpoints_free(NULL);
	husk_session_free(s);
}

static void an_undo_tells_what_is_missing(void **unused)
{
	struct husk_session *s = create(conversation);
	struct husk_checkpoints *c = NULL;
	assert_null(husk_undo(conversation, s->id, NULL, 1, NULL, &c));
	const struct husk_restored *r = c->restored;
	assert_string_equal(r->name, "a");
	assert_int_equal(r->run, 1);
	assert_int_equal(r->n_missing, 2);
	assert_int_equal(r->missing[1], 3);
	assert_int_equal(r->n_lost, 1);
	assert_string_equal(r->lost[0], "a thread");
	assert_int_equal(r->n_files, 1);
	assert_string_equal(r->files[0], "b.csv");
	assert_true(r->more_files);
	assert_string_equal(c->note, "Back.");
	assert_null(c->saved);
	husk_checkpoints_free(c);
	assert_null(husk_checkpoint_drop(conversation, s->id, "a", 0, NULL, &c));
	assert_int_equal(c->n, 0);
	husk_checkpoints_free(c);
	husk_session_free(s);
}

static void on_death(struct fake_container *c, struct fake_call *call)
{
	static const char end[] = "{\"ending\":\"kernel_died\",\"duration_ms\":1,\"stdout_bytes\":0,\"stderr_bytes\":0,"
				  "\"kernel\":\"restored\",\"restored\":{\"run\":1,\"missing\":[2]}}";
	call->ended = true;
	fake_call_give(c, call, FRAME_END, end);
}

static void a_death_tells_what_was_restored(void **unused)
{
	struct husk_session *s = create(conversation);
	struct husk_result *r = NULL;
	fake_on_call = on_death;
	assert_null(husk_execute(conversation, s->id, "1", NULL, NULL, &r));
	assert_string_equal(r->ending, "kernel_died");
	assert_false(r->kernel_restarted);
	assert_int_equal(r->restored->run, 1);
	assert_int_equal(r->restored->n_missing, 1);
	assert_null(r->restored->name);
	husk_result_free(r);
	fake_on_call = on_call;
	assert_null(husk_execute(conversation, s->id, "1", NULL, NULL, &r));
	assert_null(r->restored);
	husk_result_free(r);
	husk_session_free(s);
}

static void branches_are_made_and_one_is_kept(void **unused)
{
	struct husk_session *s = create(conversation);
	struct husk_checkpoints *c = NULL;
	struct husk_run in_a = { .size = sizeof(in_a), .branch = "a" };
	struct husk_result *r = NULL;
	assert_null(husk_branch(conversation, s->id, "a, b", NULL, &c));
	assert_int_equal(c->n_branches, 1);
	assert_string_equal(c->branches[0]->state, "ready");
	assert_int_equal(c->branches[0]->n_runs, 2);
	assert_int_equal(c->branches[0]->runs[1], 3);
	husk_checkpoints_free(c);
	assert_null(husk_execute(conversation, s->id, "1", &in_a, NULL, &r));
	assert_string_equal(r->branch, "a");
	husk_result_free(r);
	assert_null(husk_keep(conversation, s->id, "a", NULL, &c));
	assert_string_equal(c->restored->name, "a");
	assert_string_equal(c->note, "Kept.");
	assert_int_equal(c->n_dropped, 1);
	assert_string_equal(c->dropped[0], "b");
	husk_checkpoints_free(c);
	c = NULL;
	expect(husk_branch(conversation, s->id, "a", NULL, &c), "invalid", "none");
	expect(husk_branch(conversation, s->id, NULL, NULL, &c), "invalid", "misuse");
	expect(husk_keep(conversation, s->id, "a b", NULL, &c), "invalid", "none");
	in_a.branch = "a b";
	expect(husk_execute(conversation, s->id, "1", &in_a, NULL, &r), "invalid", "no_branch");
	in_a.restart = 1;
	expect(husk_execute(conversation, s->id, "1", &in_a, NULL, &r), "invalid", "misuse");
	husk_session_free(s);
}

static void wrong_requests_are_refused(void **unused)
{
	struct husk_session *s = create(conversation);
	struct husk_checkpoints *c = NULL;
	struct husk_error *e = husk_undo(conversation, s->id, "b", 0, NULL, &c);
	assert_non_null(strstr(e->hint, "'a' (after run 1)"));
	expect(e, "not_found", "none");
	expect(husk_checkpoint_drop(conversation, s->id, NULL, 9, NULL, &c), "not_found", "none");
	expect(husk_checkpoint(conversation, s->id, "a b", NULL, &c), "invalid", "none");
	expect(husk_checkpoint(conversation, s->id, NULL, NULL, &c), "invalid", "misuse");
	expect(husk_checkpoint(conversation, NULL, "a", NULL, &c), "invalid", "misuse");
	expect(husk_undo(conversation, s->id, "a", 0, NULL, NULL), "invalid", "misuse");
	expect(husk_undo(conversation, "nobody", "a", 0, NULL, &c), "not_found", "no_session");
	assert_null(c);
	husk_session_free(s);
}

static void a_session_of_an_older_husk_has_none(void **unused)
{
	fake_is_old = true;
	struct husk_session *s = create(conversation);
	struct husk_checkpoints *c = NULL;
	struct husk_result *r = NULL;
	expect(husk_checkpoint(conversation, s->id, "a", NULL, &c), "invalid", "old_session");
	expect(husk_keep(conversation, s->id, "a", NULL, &c), "invalid", "old_session");
	expect(husk_execute(conversation, s->id, "1",
			    &(struct husk_run){ .size = sizeof(struct husk_run), .branch = "a" }, NULL, &r),
	       "invalid", "old_session");
	fake_is_old = false;
	husk_session_free(s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_checkpoint_is_made_and_listed),	   TEST(an_undo_tells_what_is_missing),
		TEST(a_death_tells_what_was_restored),	   TEST(wrong_requests_are_refused),
		TEST(a_session_of_an_older_husk_has_none), TEST(branches_are_made_and_one_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
