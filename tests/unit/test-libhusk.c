/* libhusk on the fake engine: calls that wait, from several threads, with deadlines, cancels and every kind of
 * misuse. Also built with TSan. The engine runs on the library's own loop. */
#include <pthread.h>
#include <sys/wait.h>

#include "tests/unit/libhusk-rig.h"

/* --- normal use ---------------------------------------------------------------------------------------------------- */

struct heard {
	char text[64];
	pthread_t thread;
};

static void hear(void *ctx, int stream, const char *text, size_t n)
{
	struct heard *heard = ctx;
	assert_int_equal(stream, 1);
	snprintf(heard->text, sizeof(heard->text), "%.*s", (int)n, text);
	heard->thread = pthread_self();
}

static void a_session_is_created_used_and_stopped(void **unused)
{
	struct husk_session *s = create(conversation), *info = NULL;
	struct husk_sessions *list = NULL;
	struct husk_result *r = NULL;
	struct heard heard = { 0 };
	assert_string_equal(s->language, "python");
	assert_string_equal(s->status, "running");
	struct husk_run options = { .size = sizeof(options), .on_output = hear, .ctx = &heard };
	assert_null(husk_execute(conversation, s->id, "print hello", &options, NULL, &r));
	assert_string_equal(r->ending, "ok");
	assert_string_equal(r->out, "hello");
	assert_string_equal(heard.text, "hello");
	assert_true(pthread_equal(heard.thread, pthread_self()));
	assert_string_equal(husk_text(r), "");
	husk_result_free(r);
	assert_null(husk_terminal(conversation, s->id, "print there", NULL, NULL, &r));
	assert_string_equal(r->out, "there");
	husk_result_free(r);
	assert_null(husk_list(conversation, NULL, &list));
	assert_int_equal(list->n, 1);
	assert_string_equal(list->v[0]->id, s->id);
	husk_sessions_free(list);
	assert_null(husk_info(conversation, s->id, NULL, &info));
	assert_string_equal(info->id, s->id);
	husk_session_free(info);
	assert_null(husk_stop(conversation, s->id, NULL));
	assert_int_equal(containers(), 0);
	expect(husk_execute(conversation, s->id, "1", NULL, NULL, &r), "not_found", "no_session");
	husk_session_free(s);
}

static void note(void *ctx, int stream, const char *text, size_t n)
{
	char *notes = ctx;
	size_t used = strlen(notes);
	snprintf(notes + used, 64 - used, "[%.*s]", (int)n, text);
}

static void output_comes_in_whole_lines(void **unused)
{
	struct husk_session *s = create(conversation);
	struct husk_result *r = NULL;
	char notes[64] = "";
	struct husk_run options = { .size = sizeof(options), .on_output = note, .ctx = notes };
	assert_null(husk_execute(conversation, s->id, "pieces", &options, NULL, &r));
	assert_string_equal(notes, "[one\n][two\nthree\n][end]");
	husk_result_free(r);
	assert_null(husk_stop(conversation, s->id, NULL));
	husk_session_free(s);
}

static void cancel_at_output(void *ctx, int stream UNUSED, const char *text UNUSED, size_t n UNUSED)
{
	husk_cancel(ctx);
}

/* The run never ends: the call ends because its callback gets the line. */
static void an_incomplete_line_is_held_back_only_briefly(void **unused)
{
	struct husk_session *s = create(conversation);
	struct husk_cancel *cancel = NULL;
	assert_null(husk_cancel_new(&cancel));
	struct husk_run options = { .size = sizeof(options), .on_output = cancel_at_output, .ctx = cancel };
	struct husk_wait wait = { .size = sizeof(wait), .cancel = cancel, .deadline_ms = 20000 };
	expect(husk_execute(conversation, s->id, "print hang", &options, &wait, &(struct husk_result *){ NULL }),
	       "cancelled", "cancelled");
	husk_cancel_free(cancel);
	husk_session_free(s);
}

static void a_run_outlives_its_request(void **unused)
{
	struct husk_session *s = create(conversation);
	struct husk_result *r = NULL;
	struct husk_look *status = NULL;
	struct husk_run options = { .size = sizeof(options), .has_wait = 1 };
	assert_null(husk_execute(conversation, s->id, "print hang", &options, NULL, &r));
	assert_string_equal(r->ending, "running");
	assert_int_equal(r->run, 1);
	husk_result_free(r);
	assert_null(husk_terminal(conversation, s->id, "true", NULL, NULL, &r)); /* beside it */
	assert_int_equal(r->n_running, 1);
	assert_int_equal(r->running[0], 1);
	assert_int_equal(r->n_earlier, 0);
	husk_result_free(r);
	assert_null(husk_status(conversation, s->id, 1, NULL, &status));
	assert_int_equal(status->n_runs, 1);
	assert_int_equal(status->runs[0]->number, 1);
	assert_string_equal(status->runs[0]->kind, "code");
	assert_string_equal(status->runs[0]->state, "running");
	husk_status_free(status);
	options = (struct husk_run){ .size = sizeof(options), .run = 1, .interrupt = 1 };
	assert_null(husk_execute(conversation, s->id, NULL, &options, NULL, &r));
	assert_string_equal(r->ending, "interrupted");
	assert_int_equal(r->run, 1);
	husk_result_free(r);
	expect(husk_execute(conversation, s->id, NULL, &options, NULL, &r), "invalid", "run_told");
	husk_session_free(s);
}

static void a_status_reports_memory_disks_and_times(void **unused)
{
	struct husk_session *s = create(conversation);
	struct husk_look *l = NULL;
	assert_null(husk_look(conversation, s->id, 0, NULL, &l));
	assert_string_equal(l->session->id, s->id);
	assert_true(l->answered && l->has_variables && l->fresh);
	assert_true(l->left_seconds > 0 && l->idle_left_seconds > 0);
	assert_int_equal(l->memory, 5);
	assert_int_equal(l->memory_limit, 9);
	assert_int_equal(l->n_disks, 1);
	assert_string_equal(l->disks[0]->path, "/tmp");
	assert_int_equal(l->disks[0]->size, 2);
	assert_int_equal(l->n_variables, 1);
	assert_string_equal(l->variables[0]->name, "x");
	assert_string_equal(l->variables[0]->type, "list");
	assert_string_equal(l->variables[0]->shape, "3");
	assert_int_equal(l->variables[0]->bytes, 88);
	assert_int_equal(l->more_variables, 2);
	assert_int_equal(l->n_checkpoints, 1);
	assert_null(l->checkpoints[0]->name);
	assert_int_equal(l->checkpoints[0]->run, 2);
	assert_string_equal(l->no_checkpoints, "polars");
	husk_look_free(l);
	husk_look_free(NULL);
	expect(husk_look(conversation, "nobody", 0, NULL, &l), "not_found", "no_session");
	expect(husk_look(conversation, NULL, 0, NULL, &l), "invalid", "misuse");
	expect(husk_status(conversation, NULL, 0, NULL, &l), "invalid", "misuse");
	expect(husk_look(conversation, s->id, 0, NULL, NULL), "invalid", "misuse");
	husk_session_free(s);
}

/* The fake PID 1 answers a query with the code itself. */
#define MATCHES                                                                                                        \
	"{\"status\":\"ok\",\"matches\":[\"alpha\",\"a\\u001b[1m\",5,\"a\\nb\",\"al\u00fc\"],\"start\":1,\"end\":2}"

static void an_interpreter_answers_queries(void **unused)
{
	struct husk_session *s = create(conversation);
	struct husk_completion *c = NULL;
	assert_null(husk_complete(conversation, s->id, MATCHES, 2, NULL, &c));
	assert_int_equal(c->start, 1);
	assert_int_equal(c->end, 2);
	assert_int_equal(c->n, 2); /* matches that cannot be inserted as shown are left out */
	assert_string_equal(c->matches[0], "alpha");
	assert_string_equal(c->matches[1], "al\u00fc");
	assert_false(c->more);
	husk_completion_free(c);
	assert_null(husk_complete(conversation, s->id, "{\"status\":\"ok\",\"start\":-1,\"end\":99}", 3, NULL, &c));
	assert_true(c->start == 3 && c->end == 3 && c->n == 0); /* positions outside the code */
	husk_completion_free(c);

	struct husk_help *h = NULL;
	assert_null(husk_inspect(conversation, s->id,
				 "{\"status\":\"ok\",\"found\":true,\"data\":{\"text/plain\":\"\\u001b[1mhelp\"}}", 0,
				 1, NULL, &h));
	assert_true(h->found && !h->html);
	assert_string_equal(h->text, "help");
	husk_help_free(h);

	struct husk_wholeness *w = NULL;
	assert_null(husk_is_complete(conversation, s->id,
				     "{\"status\":\"ok\",\"completeness\":\"incomplete\",\"indent\":\"  \"}", NULL,
				     &w));
	assert_string_equal(w->state, "incomplete");
	assert_string_equal(w->indent, "  ");
	husk_wholeness_free(w);

	expect(husk_complete(conversation, s->id, "{\"status\":\"busy\"}", 0, NULL, &c), "busy", "interpreter_busy");
	expect(husk_complete(conversation, s->id, "{\"status\":\"timeout\"}", 0, NULL, &c), "timeout",
	       "interpreter_busy");
	expect(husk_complete(conversation, s->id, "{\"status\":\"cannot\"}", 0, NULL, &c), "invalid", "cannot_answer");
	expect(husk_complete(conversation, s->id, "{}", 0, NULL, &c), "limit", "cannot_answer");
	expect(husk_complete(conversation, s->id, "x", 2, NULL, &c), "invalid", "none"); /* the cursor is outside */
	expect(husk_complete(conversation, s->id, "\xff", 0, NULL, &c), "invalid", "none");
	expect(husk_complete(conversation, s->id, NULL, 0, NULL, &c), "invalid", "misuse");
	expect(husk_inspect(conversation, NULL, "x", 0, 0, NULL, &h), "invalid", "misuse");
	expect(husk_is_complete(conversation, s->id, "x", NULL, NULL), "invalid", "misuse");
	expect(husk_complete(conversation, "nobody", "x", 0, NULL, &c), "not_found", "no_session");
	/* No answer comes, and the caller cancels. */
	const struct husk_wait wait = { .size = sizeof(wait), .deadline_ms = 20 };
	expect(husk_complete(conversation, s->id, "", 0, &wait, &c), "timeout", "deadline");
	husk_session_free(s);
}

static void a_session_of_an_older_husk_gets_no_queries(void **unused)
{
	fake_is_old = true;
	struct husk_session *s = create(conversation);
	struct husk_completion *c = NULL;
	expect(husk_complete(conversation, s->id, "x", 0, NULL, &c), "invalid", "old_session");
	fake_is_old = false;
	husk_session_free(s);
}

static void contradictory_options_are_rejected(void **unused)
{
	static const char *const env[] = { "A=1", NULL };
	const struct husk_run wrong[] = {
		{ .run = 1, .timeout = 5 },
		{ .run = 1, .env = env },
		{ .run = 1, .cwd = "/" },
		{ .run = 1, .restart = 1 },
		{ .interrupt = 1 },
		{ .input = "x" },
		{ .run = 1, .input = "x", .interrupt = 1 },
		{ .run = 1, .interactive = 1 },
		{ .interactive = 1, .rows = 999 },
		{ .has_wait = 1 },
		{ .restart = 1 },
	};
	struct husk_session *s = create(conversation);
	struct husk_result *r = NULL;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct husk_run options = wrong[i];
		options.size = sizeof(options);
		expect(husk_terminal(conversation, s->id, NULL, &options, NULL, &r), "invalid", "misuse");
	}
	struct husk_run both = { .size = sizeof(both), .run = 1 };
	expect(husk_execute(conversation, s->id, "1", &both, NULL, &r), "invalid", "misuse");
	struct husk_run patient = { .size = sizeof(patient), .has_wait = 1, .wait_seconds = 301 };
	expect(husk_execute(conversation, s->id, "1", &patient, NULL, &r), "invalid", "misuse");
	struct husk_run unknown = { .size = sizeof(unknown), .run = 9 };
	expect(husk_execute(conversation, s->id, NULL, &unknown, NULL, &r), "invalid", "no_run");
	struct husk_run anew = { .size = sizeof(anew), .restart = 1 };
	assert_null(husk_execute(conversation, s->id, NULL, &anew, NULL, &r));
	husk_result_free(r);
	husk_session_free(s);
}

static void closing_ends_sessions(void **unused)
{
	husk_session_free(create(conversation));
	husk_session_free(create(conversation));
	assert_int_equal(containers(), 2);
	assert_null(husk_close(husk));
	husk = NULL;
	assert_int_equal(containers(), 0);
}

static void several_managers_share_the_thread(void **unused)
{
	struct husk *other = open_one();
	struct husk_conversation *c = NULL;
	struct husk_result *r = NULL;
	assert_null(husk_conversation_open(other, NULL, &c));
	struct husk_session *mine = create(conversation), *theirs = create(c);
	expect(husk_execute(conversation, theirs->id, "1", NULL, NULL, &r), "foreign", "other_conversation");
	assert_null(husk_close(other));
	assert_null(husk_execute(conversation, mine->id, "1", NULL, NULL, &r));
	husk_result_free(r);
	assert_int_equal(containers(), 1);
	husk_session_free(mine);
	husk_session_free(theirs);
}

/* --- many threads -------------------------------------------------------------------------------------------------- */

static void *work(void *ctx)
{
	struct husk_session *s = create(conversation);
	for (int i = 0; i < 20; i++) {
		struct husk_result *r = NULL;
		AUTO(freep) char *code = xasprintf("print %s-%d", (const char *)ctx, i);
		struct heard heard = { 0 };
		struct husk_run options = { .size = sizeof(options), .on_output = hear, .ctx = &heard };
		assert_null(husk_execute(conversation, s->id, code, &options, NULL, &r));
		assert_string_equal(r->out, code + 6);
		assert_string_equal(heard.text, code + 6);
		husk_result_free(r);
	}
	assert_null(husk_stop(conversation, s->id, NULL));
	husk_session_free(s);
	return NULL;
}

static void threads_do_not_disturb_each_other(void **unused)
{
	pthread_t threads[4];
	static const char *const names[] = { "a", "b", "c", "d" };
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)names[i]), 0);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(containers(), 0);
}

/* --- deadlines and cancels ----------------------------------------------------------------------------------------- */

static void a_deadline_ends_a_call(void **unused)
{
	struct husk_session *s = create(conversation);
	struct husk_result *r = NULL;
	struct husk_wait wait = { .size = sizeof(wait), .deadline_ms = 30 };
	expect(husk_execute(conversation, s->id, "hang", NULL, &wait, &r), "timeout", "deadline");
	assert_null(husk_execute(conversation, s->id, "1", NULL, NULL, &r)); /* it was interrupted, not left running */
	husk_result_free(r);
	husk_session_free(s);
}

static void say_that_it_began(void *ctx, int stream UNUSED, const char *text UNUSED, size_t n UNUSED)
{
	pthread_barrier_wait(ctx);
}

struct cancelling {
	pthread_barrier_t began;
	struct husk_cancel *cancel;
	struct husk *close;
};

static void *cancel_it(void *ctx)
{
	struct cancelling *c = ctx;
	pthread_barrier_wait(&c->began);
	if (c->close)
		assert_null(husk_close(c->close));
	else
		husk_cancel(c->cancel);
	return NULL;
}

static struct husk_error *hang_until(struct cancelling *c, const char *session)
{
	pthread_t thread;
	struct husk_result *r = NULL;
	struct husk_run options = { .size = sizeof(options), .on_output = say_that_it_began, .ctx = &c->began };
	struct husk_wait wait = { .size = sizeof(wait), .cancel = c->cancel };
	pthread_barrier_init(&c->began, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, cancel_it, c), 0);
	struct husk_error *e = husk_execute(conversation, session, "print hang", &options, &wait, &r);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&c->began);
	return e;
}

static void another_thread_cancels_a_call(void **unused)
{
	struct husk_session *s = create(conversation);
	struct husk_result *r = NULL;
	struct cancelling c = { 0 };
	assert_null(husk_cancel_new(&c.cancel));
	expect(hang_until(&c, s->id), "cancelled", "cancelled");
	/* The same for later calls with this switch. */
	struct husk_wait wait = { .size = sizeof(wait), .cancel = c.cancel };
	expect(husk_execute(conversation, s->id, "1", NULL, &wait, &r), "cancelled", "cancelled");
	husk_cancel_free(c.cancel);
	assert_null(husk_execute(conversation, s->id, "1", NULL, NULL, &r));
	husk_result_free(r);
	husk_session_free(s);
}

static void another_thread_closes_the_manager(void **unused)
{
	struct husk_session *s = create(conversation);
	struct cancelling c = { .close = husk };
	expect(hang_until(&c, s->id), "cancelled", "closed");
	husk = NULL;
	husk_session_free(s);
}

static int cancel_third(void *ctx)
{
	return ++*(int *)ctx == 3;
}

static void an_idle_callback_cancels(void **unused)
{
	struct husk_session *s = create(conversation);
	struct husk_result *r = NULL;
	int calls = 0;
	struct husk_wait wait = { .size = sizeof(wait), .on_idle = cancel_third, .ctx = &calls };
	expect(husk_execute(conversation, s->id, "hang", NULL, &wait, &r), "cancelled", "cancelled");
	assert_int_equal(calls, 3);
	husk_session_free(s);
}

static void hold_creates(void *ctx UNUSED)
{
	fake_hold(fake, FAKE_CREATE);
}

static void let_creates_go(void *ctx UNUSED)
{
	fake_let_go(fake, FAKE_CREATE);
}

static void a_cancelled_create_leaves_nothing(void **unused)
{
	struct husk_session *s = NULL;
	struct husk_wait wait = { .size = sizeof(wait), .deadline_ms = 30 };
	thread_do(hold_creates, NULL);
	expect(husk_create(conversation, NULL, &wait, &s), "timeout", "deadline");
	assert_null(s);
	thread_do(let_creates_go, NULL);
	assert_null(husk_close(husk));
	husk = NULL;
	assert_int_equal(containers(), 0);
}

/* --- misuse -------------------------------------------------------------------------------------------------------- */

static void misuse_only_returns_an_error(void **unused)
{
	struct husk *h = NULL;
	struct husk_conversation *c = NULL;
	struct husk_session *s = NULL;
	struct husk_sessions *list = NULL;
	struct husk_result *r = NULL;
	struct husk_files *files = NULL;
	struct husk_history *history = NULL;
	const char *const unknown[] = { "CONTAINER_MEMORY=1g", NULL }, *const bad[] = { "CONTAINER_MEMORY_LIMIT=lots",
											NULL };
	const char *const path[] = { NULL };
	const struct husk_import *const no_item[] = { NULL };
	expect(husk_open(NULL, NULL), "invalid", "misuse");
	expect(husk_open(&(struct husk_settings){ 0 }, &h), "invalid", "misuse");
	expect(husk_open(&(struct husk_settings){ .size = sizeof(struct husk_settings), .values = unknown }, &h),
	       "invalid", "none");
	expect(husk_open(&(struct husk_settings){ .size = sizeof(struct husk_settings), .values = bad }, &h), "invalid",
	       "none");
	expect(husk_open(&(struct husk_settings){ .size = sizeof(struct husk_settings), .file = "/nowhere" }, &h),
	       "invalid", "none");
	expect(husk_close(NULL), "invalid", "misuse");
	expect(husk_close((struct husk *)&h), "invalid", "misuse");
	expect(husk_conversation_open(NULL, NULL, &c), "invalid", "misuse");
	expect(husk_conversation_open(husk, NULL, NULL), "invalid", "misuse");
	struct husk_conversation_options named = { .size = sizeof(named), .id = "../x" };
	expect(husk_conversation_open(husk, &named, &c), "invalid", "misuse");
	expect(husk_conversation_close(NULL), "invalid", "misuse");
	expect(husk_create(NULL, NULL, NULL, &s), "invalid", "misuse");
	expect(husk_create(conversation, NULL, NULL, NULL), "invalid", "misuse");
	struct husk_create cobol = { .size = sizeof(cobol), .language = "cobol" };
	expect(husk_create(conversation, &cobol, NULL, &s), "invalid", "none");
	expect(husk_create(conversation, NULL, &(struct husk_wait){ 0 }, &s), "invalid", "misuse");
	expect(husk_execute(conversation, NULL, "1", NULL, NULL, &r), "invalid", "misuse");
	expect(husk_execute(conversation, "x", NULL, NULL, NULL, &r), "invalid", "misuse");
	expect(husk_execute(conversation, "x", "1", NULL, NULL, NULL), "invalid", "misuse");
	expect(husk_execute(conversation, "x", "\xff", NULL, NULL, &r), "invalid", "misuse");
	struct husk_run long_run = { .size = sizeof(long_run), .timeout = 100000 };
	expect(husk_execute(conversation, "x", "1", &long_run, NULL, &r), "invalid", "misuse");
	expect(husk_execute(conversation, "nobody", "1", NULL, NULL, &r), "not_found", "no_session");
	expect(husk_terminal(NULL, "x", "1", NULL, NULL, &r), "invalid", "misuse");
	expect(husk_stop(conversation, NULL, NULL), "invalid", "misuse");
	expect(husk_stop(conversation, "nobody", NULL), "not_found", "no_session");
	expect(husk_list(NULL, NULL, &list), "invalid", "misuse");
	expect(husk_info(conversation, "nobody", NULL, &s), "not_found", "no_session");
	expect(husk_import(conversation, "x", NULL, 1, NULL, NULL, &files), "invalid", "misuse");
	expect(husk_import(conversation, "x", no_item, 1, NULL, NULL, &files), "invalid", "misuse");
	expect(husk_export(conversation, "x", path, 1, NULL, NULL, &files), "invalid", "misuse");
	expect(husk_exports(conversation, 0, NULL, NULL), "invalid", "misuse");
	expect(husk_read_export(conversation, "x", 0, NULL, NULL), "invalid", "misuse");
	struct husk_content *content = NULL;
	expect(husk_read_export(conversation, NULL, 0, NULL, &content), "invalid", "misuse");
	expect(husk_read_export(conversation, "nothing", 0, NULL, &content), "not_found", "not_exported");
	husk_content_free(content);
	expect(husk_everything(NULL, NULL, &list), "invalid", "misuse");
	expect(husk_list_all(NULL, NULL, &list), "invalid", "misuse");
	expect(husk_remove(NULL, NULL, NULL, NULL), "invalid", "misuse");
	expect(husk_collect(NULL, NULL, NULL), "invalid", "misuse");
	expect(husk_history(husk, NULL, 0, NULL, &history), "invalid", "misuse");
	expect(husk_cancel_new(NULL), "invalid", "misuse");
	husk_cancel(NULL);
	husk_error_free(NULL);
	husk_result_free(NULL);
	assert_string_equal(husk_text(NULL), "");
}

static void closed_objects_are_recognised(void **unused)
{
	struct husk *h = open_one();
	struct husk_conversation *c = NULL, *again = NULL;
	struct husk_session *s = NULL;
	assert_null(husk_conversation_open(h, NULL, &c));
	assert_null(husk_conversation_close(c));
	expect(husk_conversation_close(c), "invalid", "misuse");
	expect(husk_create(c, NULL, NULL, &s), "invalid", "misuse");
	assert_null(husk_close(h));
	expect(husk_close(h), "invalid", "misuse");
	expect(husk_conversation_open(h, NULL, &again), "invalid", "misuse");
}

/* A program of a later version fills a larger structure, one of an earlier version a smaller one. */
static void structure_sizes_identify_versions(void **unused)
{
	struct {
		struct husk_run run;
		uint64_t later;
	} big = { .run.size = sizeof(big) };
	struct husk_session *s = create(conversation);
	struct husk_result *r = NULL;
	assert_null(husk_execute(conversation, s->id, "1", &big.run, NULL, &r));
	husk_result_free(r);
	big.later = 1;
	expect(husk_execute(conversation, s->id, "1", &big.run, NULL, &r), "invalid", "misuse");
	struct husk_run small = { .size = offsetof(struct husk_run, on_output), .timeout = 5, .on_output = (void *)1 };
	assert_null(husk_execute(conversation, s->id, "1", &small, NULL, &r));
	husk_result_free(r);
	husk_session_free(s);
}

static void hosts_that_were_left_out_are_named(void **unused)
{
	const char *values[] = { state, data, "CONTAINER_NETWORK_ALLOW=a.example", NULL };
	const char *const hosts[] = { "a.example", "b.example", NULL };
	struct husk_create options = { .size = sizeof(options), .network_hosts = hosts };
	struct husk *h = NULL;
	struct husk_conversation *c = NULL;
	struct husk_session *s = NULL;
	assert_null(open_on(&(struct husk_settings){ .size = sizeof(struct husk_settings), .values = values },
			    FAKE_NAME, &h));
	assert_null(husk_conversation_open(h, NULL, &c));
	assert_null(husk_create(c, &options, NULL, &s));
	assert_non_null(s->note);
	assert_non_null(strstr(s->note, "b.example"));
	husk_session_free(s);
	assert_null(husk_create(c, NULL, NULL, &s));
	assert_null(s->note);
	husk_session_free(s);
	assert_null(husk_close(h));
}

#if !defined(__SANITIZE_THREAD__)
/* The child may not use the inherited manager, and opens its own. */
static int in_child(void)
{
	struct husk_error *e = husk_close(husk);
	struct husk *own = NULL;
	if (!e || !streq(e->cause, "forked"))
		return 1;
	husk_error_free(e);
	const char *values[] = { state, data, NULL };
	e = husk_open(&(struct husk_settings){ .size = sizeof(struct husk_settings), .values = values }, &own);
	if (e)
		return 2;
	struct husk_conversation *c = NULL;
	struct husk_sessions *list = NULL;
	if (husk_conversation_open(own, NULL, &c) || husk_list(c, NULL, &list) || list->n)
		return 3;
	return husk_close(own) ? 4 : 0;
}

static void a_forked_child_opens_its_own_manager(void **unused)
{
	struct husk_result *r = NULL;
	struct husk_session *s = create(conversation);
	pid_t pid = fork();
	int status = -1;
	if (pid == 0)
		_exit(in_child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_null(husk_execute(conversation, s->id, "1", NULL, NULL, &r));
	husk_result_free(r);
	husk_session_free(s);
}
#endif

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_session_is_created_used_and_stopped),
		TEST(output_comes_in_whole_lines),
		TEST(an_incomplete_line_is_held_back_only_briefly),
		TEST(a_run_outlives_its_request),
		TEST(a_status_reports_memory_disks_and_times),
		TEST(an_interpreter_answers_queries),
		TEST(a_session_of_an_older_husk_gets_no_queries),
		TEST(contradictory_options_are_rejected),
		TEST(closing_ends_sessions),
		TEST(several_managers_share_the_thread),
		TEST(threads_do_not_disturb_each_other),
		TEST(a_deadline_ends_a_call),
		TEST(another_thread_cancels_a_call),
		TEST(another_thread_closes_the_manager),
		TEST(an_idle_callback_cancels),
		TEST(a_cancelled_create_leaves_nothing),
		TEST(misuse_only_returns_an_error),
		TEST(closed_objects_are_recognised),
		TEST(structure_sizes_identify_versions),
		TEST(hosts_that_were_left_out_are_named),
#if !defined(__SANITIZE_THREAD__)
		TEST(a_forked_child_opens_its_own_manager),
#endif
	};
	return cmocka_run_group_tests_name("libhusk", tests, NULL, NULL);
}
