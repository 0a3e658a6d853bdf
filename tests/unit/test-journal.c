/* The manager on the fake engine: records of runs, and journals with several readers. */
#include "tests/unit/journal-rig.h"

#include "manager/registry/conversation.h"
#include "manager/registry/journal.h"
#include "manager/registry/registry.h"

static void two_readers_read_from_different_points(void **state)
{
	struct log all = { 0 }, late = { 0 };
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	read_from(&all, id, 0, 0);
	uint32_t n = detach(id);
	out(n, "one\n");
	FAKE_UNTIL(fake, has(&all, "one"));
	uint64_t middle = all.last;
	fake_call_give(fake_only(fake), call(n), FRAME_DISPLAY, "{\"data\":{\"text/plain\":\"pic\"}}");
	fake_call_give(fake_only(fake), call(n), FRAME_ERR, "two\n");
	end(n);
	FAKE_UNTIL(fake, has(&all, "run.ended"));
	assert_lines(&all, "session.created\nsession.claimed\nrun.queued 1 code\nrun.started 1\nrun.output 1 one\n\n"
			   "run.display 1 pic\nrun.output 1 two\n\nrun.ended 1 ok\n");
	read_from(&late, id, 0, middle);
	FAKE_UNTIL(fake, has(&late, "run.ended"));
	assert_lines(&late, "run.display 1 pic\nrun.output 1 two\n\nrun.ended 1 ok\n");
	assert_int_equal(late.last, all.last);
	stop(id);
	FAKE_UNTIL(fake, has(&all, "session.ended") && has(&late, "session.ended"));
	assert_int_equal(all.gaps + late.gaps, 0);
	log_release(&all);
	log_release(&late);
}

static void a_reader_of_one_run_gets_only_its_events(void **state)
{
	struct log one = { 0 };
	AUTO(freep) char *id = create();
	run(id);
	run(id);
	read_from(&one, id, 2, 0);
	FAKE_UNTIL(fake, has(&one, "run.ended"));
	assert_lines(&one, "run.queued 2 1\nrun.started 2\nrun.ended 2 ok\n");
	log_release(&one);
}

static void a_reader_of_all_sessions_continues_by_position(void **state)
{
	struct log all = { 0 }, next = { 0 };
	AUTO(freep) char *id = create();
	read_from(&all, NULL, 0, 0);
	FAKE_UNTIL(fake, all.events == 2);
	uint64_t position = all.position;
	all.last = 0; /* numbers rise only within a session */
	AUTO(freep) char *other = create();
	run(other);
	read_from(&next, NULL, 0, position);
	FAKE_UNTIL(fake, has(&next, "run.ended"));
	assert_lines(&next, "session.created\nsession.claimed\nrun.queued 1 1\nrun.started 1\nrun.ended 1 ok\n");
	struct conversation *own = conversation;
	struct conversation *foreign = conversation =
		conversation_open(manager, &(struct conversation_spec){ .id = "foreign" });
	struct log theirs = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	read_from(&theirs, NULL, 0, 0);
	AUTO(freep) char *third = create();
	FAKE_UNTIL(fake, theirs.events == 2);
	assert_lines(&theirs, "session.created\nsession.claimed\n");
	conversation = own;
	assert_null(manager_read_journal(
		manager, &(struct journal_request){ .conversation = foreign, .session_id = id, .on_event = on_event },
		&f));
	assert_int_equal(f.kind, FAIL_FOREIGN);
	log_release(&all);
	log_release(&next);
	log_release(&theirs);
}

/* Events of this size exceed the session's limit soon. */
#define PIECE 1000
#define LIMIT 20000

static void flood(uint32_t number, size_t pieces)
{
	char text[PIECE + 1];
	memset(text, 'x', PIECE);
	text[PIECE] = '\0';
	for (size_t i = 0; i < pieces; i++) {
		out(number, text);
		/* Output of the other stream between them keeps the pieces apart. */
		fake_call_give(fake_only(fake), call(number), FRAME_ERR, "e");
	}
}

static void a_slow_reader_gets_one_gap_and_delays_no_other_reader(void **state)
{
	struct log fast = { 0 }, slow = { .pause_after = 3 };
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	b.config.record_max_size_per_session = LIMIT;
	read_from(&fast, id, 0, 0);
	read_from(&slow, id, 0, 0);
	uint32_t n = detach(id);
	FAKE_UNTIL(fake, slow.events == 3);
	for (int i = 0; i < 10; i++) {
		size_t before = fast.events;
		flood(n, 10);
		FAKE_UNTIL(fake, fast.events >= before + 20);
	}
	assert_int_equal(fast.gaps, 0);
	assert_int_equal(slow.events, 3);
	journal_reader_pause(slow.reader, false);
	FAKE_UNTIL(fake, slow.gaps);
	assert_int_equal(slow.active_at_gap, 1);
	assert_string_equal(slow.status_at_gap, "running");
	assert_int_equal(slow.last, fast.last);
	end(n);
	FAKE_UNTIL(fake, has(&fast, "run.ended") && has(&slow, "run.ended"));
	assert_int_equal(slow.gaps, 1);
	assert_int_equal(slow.events, 4);
	log_release(&fast);
	log_release(&slow);
}

static void above_the_limits_the_oldest_output_is_dropped(void **state)
{
	struct log late = { 0 };
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	b.config.record_max_size_per_session = LIMIT;
	uint32_t first = detach(id);
	out(first, "first");
	end(first);
	record(id, first);
	assert_string_equal(buf_str(&seen.parts), "first");
	uint64_t place = seen.journal;
	uint32_t n = detach(id);
	flood(n, 50);
	end(n);
	FAKE_UNTIL(fake, (record(id, n), seen.state == RECORD_ENDED));
	assert_true(seen.kept > LIMIT / 4 && seen.kept < LIMIT);
	assert_int_equal(seen.kept + seen.dropped, 50 * (PIECE + 1));
	record(id, first);
	assert_int_equal(seen.parts.len, 0);
	assert_int_equal(seen.dropped, 5);
	assert_string_equal(seen.ending, "ok");
	assert_string_equal(seen.by, "rest");
	read_from(&late, id, 0, place);
	FAKE_UNTIL(fake, late.events + late.gaps);
	assert_int_equal(late.gaps, 1);
	log_release(&late);
	/* A run whose events are all here has no gap, although earlier events are missing. */
	struct log whole = { 0 };
	uint32_t last = detach(id);
	read_from(&whole, id, last, 0);
	end(last);
	FAKE_UNTIL(fake, has(&whole, "run.ended") || whole.gaps);
	assert_int_equal(whole.gaps, 0);
	assert_true(has(&whole, "run.queued"));
	log_release(&whole);
}

static void the_limit_of_the_server_covers_all_sessions(void **state)
{
	struct log before = { 0 }, after = { 0 };
	AUTO(freep) char *id = create(), *other = create();
	run(id);
	b.config.record_max_size = LIMIT;
	read_from(&before, id, 0, 0);
	FAKE_UNTIL(fake, before.events == 5);
	for (size_t i = 0; i < 100; i++)
		run(other);
	read_from(&after, id, 0, 0);
	FAKE_UNTIL(fake, after.gaps == 1);
	assert_int_equal(after.events, 0);
	record(id, 1);
	assert_string_equal(seen.ending, "ok");
	log_release(&before);
	log_release(&after);
}

static void a_record_has_parts_in_order_after_the_end(void **state)
{
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	uint32_t n = detach(id);
	out(n, "gone");
	fake_call_give(fake_only(fake), call(n), FRAME_DISPLAY, "{\"data\":{},\"clear\":true}");
	out(n, "a");
	fake_call_give(fake_only(fake), call(n), FRAME_DISPLAY,
		       "{\"data\":{\"text/plain\":\"old\"},\"display_id\":\"d\"}");
	fake_call_give(fake_only(fake), call(n), FRAME_ERR, "b");
	fake_call_give(fake_only(fake), call(n), FRAME_DISPLAY,
		       "{\"data\":{\"text/plain\":\"new\"},\"display_id\":\"d\",\"update\":true}");
	fake_call_give(fake_only(fake), call(n), FRAME_RESULT, "{\"data\":{\"text/plain\":\"42\"}}");
	out(n, "late");
	record(id, n);
	assert_int_equal(seen.state, RECORD_RUNNING);
	end(n);
	FAKE_UNTIL(fake, (record(id, n), seen.state == RECORD_ENDED));
	assert_string_equal(buf_str(&seen.parts), "a<new>!b=42late");
	assert_string_equal(seen.text, "code");
	stop(id);
	record(id, n); /* as often as wanted, also after the session's end */
	assert_string_equal(buf_str(&seen.parts), "a<new>!b=42late");
	record(id, 7);
	assert_int_equal(cause_of(&seen.fail), CAUSE_NO_RUN);
}

static void a_record_says_where_to_continue(void **state)
{
	struct log rest = { 0 };
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	uint32_t n = detach(id);
	out(n, "a");
	FAKE_UNTIL(fake, (record(id, n), seen.parts.len == 1));
	uint64_t place = seen.journal;
	out(n, "b");
	end(n);
	read_from(&rest, id, n, place);
	FAKE_UNTIL(fake, has(&rest, "run.ended"));
	assert_lines(&rest, "run.output 1 b\nrun.ended 1 ok\n");
	log_release(&rest);
}

static void runs_are_listed_newest_first_in_pages(void **state)
{
	AUTO(freep) char *id = create();
	for (int i = 0; i < 5; i++)
		run(id);
	runs(id, 0, 2);
	assert_int_equal(seen.n, 2);
	assert_true(seen.more);
	assert_int_equal(seen.numbers[0], 5);
	assert_int_equal(seen.numbers[1], 4);
	runs(id, 2, 2);
	assert_int_equal(seen.n, 1);
	assert_false(seen.more);
	assert_int_equal(seen.numbers[0], 1);
	next_server();
	runs(id, 0, 3); /* from the store */
	assert_int_equal(seen.n, 3);
	assert_true(seen.more);
	assert_int_equal(seen.numbers[0], 5);
	record(id, 5);
	assert_string_equal(seen.ending, "ok");
}

static void numbers_rise_across_servers(void **state)
{
	struct log before = { 0 }, after = { 0 };
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	read_from(&before, id, 0, 0);
	uint32_t n = detach(id);
	out(n, "one");
	FAKE_UNTIL(fake, has(&before, "one"));
	uint64_t last = before.last;
	log_release(&before);
	manager_free(manager);
	open_server();
	conversation_wake(conversation);
	AUTO(fail_release) struct fail none = { 0 };
	FAKE_UNTIL(fake, fake_only(fake)->pid1->hellos == 2);
	after.last = last;
	read_from(&after, id, 0, last);
	out(n, " two");
	end(n);
	FAKE_UNTIL(fake, has(&after, "run.ended"));
	assert_int_equal(after.gaps, 1);
	assert_true(after.last > last && after.last < 1ull << 53);
	record(id, n);
	assert_string_equal(buf_str(&seen.parts), "one two");
	assert_string_equal(seen.by, "rest");
	log_release(&after);
}

static void a_replay_adds_nothing_to_a_record(void **state)
{
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	uint32_t n = detach(id);
	out(n, "one");
	FAKE_UNTIL(fake, (record(id, n), seen.parts.len == 3));
	fake_break(fake_stream(fake_only(fake)), FAIL_ENGINE, CAUSE_NONE, "broken");
	FAKE_UNTIL(fake, fake_only(fake)->pid1->hellos == 2);
	out(n, " two");
	end(n);
	FAKE_UNTIL(fake, (record(id, n), seen.state == RECORD_ENDED));
	assert_string_equal(buf_str(&seen.parts), "one two");
}

static void the_newest_runs_keep_their_records(void **state)
{
	enum { RUNS = 1020, KEPT = 1000 };
	static struct run_record v[RUNS];
	uint32_t n = 0;
	AUTO(freep) char *id = create();
	struct journal *j = journals_find(conversation->registry->journals, id);
	fake_on_call = do_nothing;
	for (int i = 0; i < RUNS; i++) {
		n = detach(id);
		end(n);
		FAKE_UNTIL(fake, (journal_list_records(j, 0, v, 1), v[0].state == RECORD_ENDED));
	}
	assert_int_equal(journal_list_records(j, 0, v, RUNS), KEPT);
	assert_int_equal(v[0].number, n);
	assert_int_equal(v[KEPT - 1].number, n - KEPT + 1);
}

/* PID 1 replays everything after the last mark that was acknowledged, with the marks in between. */
static void a_replay_with_an_unacknowledged_mark_adds_nothing(void **state)
{
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	uint32_t n = detach(id);
	struct fake_container *c = fake_only(fake);
	out(n, "one ");
	fake_call_give(c, call(n), FRAME_OUT_TAIL, "tail ");
	fake_call_give(
		c, call(n), FRAME_MARK,
		"{\"mark\":1,\"state\":\"running\",\"duration_ms\":1,\"stdout_bytes\":9,\"stderr_bytes\":0,\"beside\":false}");
	out(n, "two ");
	FAKE_UNTIL(fake, (record(id, n), seen.kept == 13));
	fake_break(fake_stream(c), FAIL_ENGINE, CAUSE_NONE, "broken");
	FAKE_UNTIL(fake, c->pid1->hellos == 2);
	out(n, "three");
	end(n);
	FAKE_UNTIL(fake, (record(id, n), seen.state == RECORD_ENDED));
	assert_string_equal(buf_str(&seen.parts), "one tail two three");
}

static void a_record_says_how_much_was_cut(void **state)
{
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	uint32_t n = detach(id);
	struct fake_container *c = fake_only(fake);
	out(n, "head");
	fake_call_give(c, call(n), FRAME_OUT_TAIL, "tail");
	call(n)->ended = true;
	fake_call_give(
		c, call(n), FRAME_END,
		"{\"ending\":\"ok\",\"duration_ms\":1,\"stdout_bytes\":1008,\"stderr_bytes\":0,\"kernel\":\"kept\"}");
	FAKE_UNTIL(fake, (record(id, n), seen.state == RECORD_ENDED));
	assert_string_equal(buf_str(&seen.parts), "head\n... [1000 bytes cut] ...\ntail");
}

static void a_large_display_is_recorded_without_its_content(void **state)
{
	struct log all = { 0 };
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	b.config.record_max_size_per_session = LIMIT;
	read_from(&all, id, 0, JOURNAL_NOW);
	uint32_t n = detach(id);
	AUTO(freep) char *data = xcalloc(LIMIT, 1);
	memset(data, 'x', LIMIT / 2);
	AUTO(freep) char *display = xasprintf("{\"data\":{\"text/plain\":\"%s\"}}", data);
	fake_call_give(fake_only(fake), call(n), FRAME_DISPLAY, display);
	FAKE_UNTIL(fake, has(&all, "run.display"));
	record(id, n);
	assert_string_equal(buf_str(&seen.parts), "<->");
	assert_int_equal(seen.dropped, LIMIT / 2);
	assert_int_equal(all.gaps, 0);
	log_release(&all);
}

static void a_queued_run_starts_when_the_run_ahead_ends(void **state)
{
	struct log all = { 0 };
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	read_from(&all, id, 0, JOURNAL_NOW);
	(void)detach(id);
	(void)detach(id);
	end(1);
	end(2);
	FAKE_UNTIL(fake, has(&all, "run.ended 2"));
	assert_lines(&all, "run.queued 1 code\nrun.started 1\nrun.queued 2 code\nrun.ended 1 ok\nrun.started 2\n"
			   "run.ended 2 ok\n");
	log_release(&all);
}

static void free_itself(void *ctx, const struct journal_event *e)
{
	struct log *l = ctx;
	l->events++;
	l->reader = journal_reader_free(l->reader);
}

static void a_reader_may_be_freed_by_its_callback_and_after_its_manager(void **state)
{
	struct log one = { 0 }, other = { 0 };
	AUTO(freep) char *id = create();
	AUTO(fail_release) struct fail f = { 0 };
	struct journal_request request = { .session_id = id, .on_event = free_itself, .on_gap = on_gap, .ctx = &one };
	one.reader = manager_read_journal(manager, &request, &f);
	read_from(&other, id, 0, 0);
	FAKE_UNTIL(fake, other.events == 2);
	assert_int_equal(one.events, 1);
	conversation_close(conversation);
	manager_free(manager);
	open_server();
	journal_reader_pause(other.reader, true);
	journal_reader_pause(other.reader, false);
	log_release(&other);
}

static void on_copied(void *ctx UNUSED, const struct copy_result *results, size_t n, const struct fail *f)
{
	got.done = true;
	assert_null(f);
	for (size_t i = 0; i < n; i++)
		assert_true(results[i].success);
}

static void copies_are_in_the_journal(void **state)
{
	struct log all = { 0 };
	fake_play(fake, /* script= */ NULL); /* a real PID 1 */
	AUTO(freep) char *id = create();
	read_from(&all, id, 0, JOURNAL_NOW);
	forget();
	struct import_item item = { .content = "abc", .content_len = 3, .destination = "/workspace/a" };
	struct copy_request import = { .session_id = id, .imports = &item, .n = 1, .on_done = on_copied };
	assert_non_null(manager_copy(conversation, &import, &got.fail));
	FAKE_UNTIL(fake, got.done);
	forget();
	static const char *const paths[] = { "/workspace/a" };
	struct copy_request export = { .session_id = id, .exports = paths, .n = 1, .on_done = on_copied };
	assert_non_null(manager_copy(conversation, &export, &got.fail));
	FAKE_UNTIL(fake, got.done && has(&all, "files.exported"));
	assert_lines(&all, "files.imported /workspace/a\nfiles.exported /workspace/a\n");
	log_release(&all);
}

static unsigned joined[2];

static void on_joined(void *ctx)
{
	++*(unsigned *)ctx;
}

static void a_conversation_has_several_watches(void **state)
{
	memset(joined, 0, sizeof(joined));
	conversation_watch(conversation, on_joined, &joined[0]);
	conversation_watch(conversation, on_joined, &joined[1]);
	AUTO(freep) char *id = create();
	conversation_unwatch(conversation, on_joined, &joined[0]);
	AUTO(freep) char *other = create();
	assert_int_equal(joined[0], 1);
	assert_int_equal(joined[1], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOURNAL_TEST(two_readers_read_from_different_points),
		JOURNAL_TEST(a_reader_of_one_run_gets_only_its_events),
		JOURNAL_TEST(a_reader_of_all_sessions_continues_by_position),
		JOURNAL_TEST(a_slow_reader_gets_one_gap_and_delays_no_other_reader),
		JOURNAL_TEST(above_the_limits_the_oldest_output_is_dropped),
		JOURNAL_TEST(the_limit_of_the_server_covers_all_sessions),
		JOURNAL_TEST(a_record_has_parts_in_order_after_the_end),
		JOURNAL_TEST(a_record_says_where_to_continue),
		JOURNAL_TEST(runs_are_listed_newest_first_in_pages),
		JOURNAL_TEST(the_newest_runs_keep_their_records),
		JOURNAL_TEST(numbers_rise_across_servers),
		JOURNAL_TEST(a_replay_adds_nothing_to_a_record),
		JOURNAL_TEST(a_replay_with_an_unacknowledged_mark_adds_nothing),
		JOURNAL_TEST(a_record_says_how_much_was_cut),
		JOURNAL_TEST(a_large_display_is_recorded_without_its_content),
		JOURNAL_TEST(a_queued_run_starts_when_the_run_ahead_ends),
		JOURNAL_TEST(a_reader_may_be_freed_by_its_callback_and_after_its_manager),
		JOURNAL_TEST(copies_are_in_the_journal),
		JOURNAL_TEST(a_conversation_has_several_watches),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
