/* Readers of journals, records of runs, and detached runs, over the rig of sessions. */
#ifndef HUSK_TESTS_JOURNAL_RIG_H
#define HUSK_TESTS_JOURNAL_RIG_H

#include "kernels/protocol.h"
#include "tests/unit/sessions-rig.h"

/* --- readers ----------------------------------------------------------------------------------------------------- */

struct log {
	struct journal_reader *reader;
	struct buf lines; /* "kind run text" of each event */
	uint64_t last;	  /* number of the last event or gap */
	uint64_t position;
	size_t events, gaps;
	size_t pause_after;   /* pauses itself after this number of events; 0 = never */
	size_t active_at_gap; /* runs that had not ended at the last gap */
	char status_at_gap[16];
};

UNUSED static void on_event(void *ctx, const struct journal_event *e)
{
	struct log *l = ctx;
	assert_true(e->number > l->last);
	l->last = e->number;
	l->position = e->position;
	l->events++;
	buf_printf(&l->lines, "%s", journal_kind_name(e->kind));
	if (e->run)
		buf_printf(&l->lines, " %u", (unsigned)e->run);
	if (e->text)
		buf_printf(&l->lines, " %.*s", (int)e->len, e->text);
	if (e->ending)
		buf_printf(&l->lines, " %s", e->ending);
	if (e->display && e->display->bundle->n)
		buf_printf(&l->lines, " %s", e->display->bundle->parts[0].data);
	buf_add_str(&l->lines, "\n");
	if (l->pause_after && l->events == l->pause_after)
		journal_reader_pause(l->reader, true);
}

UNUSED static void on_gap(void *ctx, const struct journal_gap *gap)
{
	struct log *l = ctx;
	assert_true(!gap->number || gap->number > l->last);
	l->gaps++;
	l->last = gap->number;
	l->position = gap->position;
	buf_add_str(&l->lines, "gap\n");
	l->active_at_gap = 0;
	for (size_t i = 0; i < gap->n_sessions; i++)
		l->active_at_gap += gap->sessions[i].n_runs;
	if (gap->n_sessions)
		snprintf(l->status_at_gap, sizeof(l->status_at_gap), "%s", gap->sessions[0].status);
}

UNUSED static void read_from(struct log *l, const char *session, uint64_t run, uint64_t after)
{
	AUTO(fail_release) struct fail f = { 0 };
	l->reader = manager_read_journal(manager,
					 &(struct journal_request){ .conversation = conversation,
								    .session_id = session,
								    .run = run,
								    .after = after,
								    .on_event = on_event,
								    .on_gap = on_gap,
								    .ctx = l },
					 &f);
	assert_non_null(l->reader);
}

UNUSED static void log_release(struct log *l)
{
	journal_reader_free(l->reader);
	buf_release(&l->lines);
}

UNUSED static bool has(struct log *l, const char *line)
{
	return strstr(buf_str(&l->lines), line) != NULL;
}

UNUSED static void assert_lines(struct log *l, const char *lines)
{
	assert_string_equal(buf_str(&l->lines), lines);
}

/* --- runs -------------------------------------------------------------------------------------------------------- */

UNUSED static struct fake_call *call(uint32_t number)
{
	return fake_call_find(fake_only(fake), number);
}

UNUSED static void out(uint32_t number, const char *text)
{
	fake_call_out(fake_only(fake), call(number), text);
}

UNUSED static void end(uint32_t number)
{
	fake_call_end(fake_only(fake), call(number), "ok");
}

static uint64_t started;

UNUSED static void on_started(void *ctx UNUSED, const struct run_result *result, const struct fail *f)
{
	assert_null(f);
	assert_int_equal(result->ending, ENDING_RUNNING);
	got.done = true;
	started = result->run;
}

/* Starts a detached cell, and waits until PID 1 has it. */
UNUSED static uint32_t detach(const char *id)
{
	forget();
	struct run_request request = { .kind = RUN_CODE,
				       .session_id = id,
				       .text = "code",
				       .len = 4,
				       .by = "rest",
				       .detached = true,
				       .on_done = on_started };
	assert_non_null(manager_run(conversation, &request, &got.fail));
	assert_false(got.done);
	FAKE_UNTIL(fake, got.done && call((uint32_t)started));
	return (uint32_t)started;
}

/* --- records ----------------------------------------------------------------------------------------------------- */

static struct {
	bool done;
	struct fail fail;
	size_t n;
	bool more;
	uint64_t numbers[8];
	enum record_state state;
	struct buf parts; /* streams unchanged, displays as <…>, values as =… */
	char by[16], text[16], ending[16];
	uint64_t dropped, journal;
	size_t prompts, answered, outputs, kept; /* kept: bytes of the streams */
} seen;

UNUSED static void forget_seen(void)
{
	buf_release(&seen.parts);
	fail_release(&seen.fail);
	memset(&seen, 0, sizeof(seen));
}

UNUSED static void on_record(void *ctx UNUSED, const struct run_record *r, const struct fail *f)
{
	seen.done = true;
	if (f) {
		fail_copy(&seen.fail, f);
		return;
	}
	for (size_t i = 0; i < r->n_parts; i++) {
		const struct record_part *part = &r->parts[i];
		const char *data = part->bundle && part->bundle->n ? part->bundle->parts[0].data : "-";
		seen.kept += part->len;
		if (part->kind == PART_STDOUT || part->kind == PART_STDERR)
			buf_printf(&seen.parts, "%s%.*s", part->kind == PART_STDERR ? "!" : "", (int)part->len,
				   part->text);
		else if (part->kind == PART_ERROR)
			buf_printf(&seen.parts, "[%s]", r->result->error_type);
		else
			buf_printf(&seen.parts, part->kind == PART_RESULT ? "=%s" : "<%s>", data);
	}
	snprintf(seen.by, sizeof(seen.by), "%s", r->by ? r->by : "");
	snprintf(seen.text, sizeof(seen.text), "%.*s", (int)r->len, r->text ? r->text : "");
	snprintf(seen.ending, sizeof(seen.ending), "%s", r->ending ? r->ending : "");
	seen.state = r->state;
	seen.dropped = r->dropped;
	seen.journal = r->journal;
	seen.prompts = r->n_prompts;
	for (size_t i = 0; i < r->n_prompts; i++)
		seen.answered += r->prompts[i].answered;
	seen.outputs = r->n_outputs;
}

UNUSED static void record(const char *id, uint64_t number)
{
	forget_seen();
	assert_non_null(manager_run_record(
		conversation, &(struct run_record_request){ .session_id = id, .number = number, .on_done = on_record },
		&seen.fail));
	FAKE_UNTIL(fake, seen.done);
}

UNUSED static void on_runs(void *ctx UNUSED, const struct run_record *v, size_t n, bool more, const struct fail *f)
{
	seen.done = true;
	seen.n = n;
	seen.more = more;
	if (f)
		fail_copy(&seen.fail, f);
	for (size_t i = 0; i < MIN(n, ARRAY_LEN(seen.numbers)); i++)
		seen.numbers[i] = v[i].number;
	if (n)
		seen.state = v[0].state;
}

UNUSED static void runs(const char *id, uint64_t before, size_t limit)
{
	forget_seen();
	assert_non_null(manager_runs(
		conversation,
		&(struct runs_request){ .session_id = id, .before = before, .limit = limit, .on_done = on_runs },
		&seen.fail));
	FAKE_UNTIL(fake, seen.done);
}

UNUSED static void on_settled(void *ctx)
{
	*(bool *)ctx = true;
}

/* This server writes everything and ends, and another one starts. */
UNUSED static void next_server(void)
{
	bool settled = false;
	manager_settle(manager, 10000, on_settled, &settled);
	FAKE_UNTIL(fake, settled);
	manager_free(manager);
	open_server();
}

UNUSED static int journal_teardown(void **state)
{
	forget_seen();
	return teardown(state);
}

#define JOURNAL_TEST(name) cmocka_unit_test_setup_teardown(name, setup, journal_teardown)

#endif
