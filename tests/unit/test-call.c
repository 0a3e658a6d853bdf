/* mcp/call: one answer, silence after a cancel, and progress that rises and is separate from the answer. */
#include <time.h>

#include "tests/unit/unit.h"

#include "base/alloc.h"
#include "base/json.h"
#include "mcp/call.h"
#include "tests/fake-manager/fake-manager.h"

struct wire {
	char *reply;
	json_t *progress; /* list of params */
	uint64_t last_ms;
	unsigned closed;
};

static void on_reply(void *ctx, struct call *call, const struct buf *text)
{
	struct wire *w = ctx;
	assert_null(w->reply);
	w->reply = xstrndup((const char *)text->data, text->len);
}

static void on_progress(void *ctx, struct call *call UNUSED, json_t *message)
{
	struct wire *w = ctx;
	assert_null(w->reply);
	json_array_append(w->progress, json_object_get(message, "params"));
	w->last_ms = loop_now_ms();
	json_decref(message);
}

static void on_closed(void *ctx, struct call *call)
{
	((struct wire *)ctx)->closed++;
}

static const struct call_ops ops = { on_reply, on_progress, on_closed };

static struct call *start(struct wire *w, const char *revision)
{
	json_auto_t *id = json_integer(5);
	*w = (struct wire){ .progress = json_array() };
	return call_new(&ops, w, id, revision_find(revision));
}

static void finish(struct wire *w)
{
	free(w->reply);
	json_decref(w->progress);
}

static void modern_results_get_the_common_fields(void **state)
{
	struct wire w;
	call_reply(start(&w, "2026-07-28"), json_object());
	assert_string_equal(
		w.reply, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"_meta\":{\"io.modelcontextprotocol/serverInfo\":"
			 "{\"name\":\"husk\",\"version\":\"" HUSK_VERSION
			 "\",\"title\":\"Husk\"}},\"resultType\":\"complete\"}}");
	assert_int_equal(w.closed, 1);
	finish(&w);
}

static void legacy_results_do_not(void **state)
{
	struct wire w;
	call_reply(start(&w, "2025-11-25"), json_object());
	assert_string_equal(w.reply, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}");
	finish(&w);
	call_reply_error(start(&w, "2026-07-28"), -32602, "no", NULL);
	assert_string_equal(w.reply, "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32602,\"message\":\"no\"}}");
	finish(&w);
}

static void done(void *ctx, const struct fail *f)
{
	fail_msg("called back after a cancel");
}

struct making {
	int made, released;
};

static json_t *make(void *ctx)
{
	((struct making *)ctx)->made++;
	return json_pack("{s:i}", "x", 1);
}

static void release(void *ctx)
{
	((struct making *)ctx)->released++;
}

static void an_answer_is_made_once_by_a_worker(void **state)
{
	struct wire w;
	struct loop *loop = loop_new();
	struct making m = { 0 };
	const struct call_work work = { .make = make, .release = release, .ctx = &m };
	call_reply_later(start(&w, "2025-11-25"), loop, &work);
	assert_null(w.reply);
	loop_skip(loop, 0);
	assert_string_equal(w.reply, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"x\":1}}");
	assert_int_equal(w.closed, 1);
	assert_int_equal(m.released, 1);
	finish(&w);
	/* If the call is cancelled meanwhile, there is no answer. */
	struct call *c = start(&w, "2025-11-25");
	call_reply_later(c, loop, &work);
	call_cancel(c);
	assert_int_equal(w.closed, 1);
	loop_skip(loop, 0);
	assert_null(w.reply);
	assert_int_equal(m.released, 2);
	finish(&w);
	loop_free(loop);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define LARGE (6u << 20)

static json_t *make_large(void *ctx)
{
	json_t *o = json_object();
	char *text = xmalloc(LARGE + 1);
	for (size_t i = 0; i < LARGE; i++)
		text[i] = i % 2 ? '"' : 'x';
	text[LARGE] = '\0';
	json_object_set_new(o, "x", json_string(text));
	free(text);
	return o;
}

/* evidence: loop-work */
/* The loop only copies the text, which takes a fraction of the time that printing takes. A large answer has the
 * same fields as a small one. */
static void a_large_answer_is_printed_by_a_worker(void **state)
{
	struct wire w;
	struct loop *loop = loop_new();
	struct making m = { 0 };
	AUTO(buf_release) struct buf printed = { 0 };
	json_auto_t *large = make_large(NULL);
	uint64_t start_ns = cpu_ns();
	json_print(&printed, large);
	uint64_t print_ns = cpu_ns() - start_ns;
	call_reply_later(start(&w, "2026-07-28"), loop,
			 &(struct call_work){ .make = make_large, .release = release, .ctx = &m });
	start_ns = cpu_ns();
	loop_skip(loop, 0);
	assert_true(cpu_ns() - start_ns < print_ns);
	AUTO(freep) char *late = take_ptr(w.reply);
	finish(&w);
	call_reply(start(&w, "2026-07-28"), json_incref(large));
	assert_string_equal(late, w.reply);
	finish(&w);
	loop_free(loop);
}

static void cancel_stops_the_work_without_an_answer(void **state)
{
	struct wire w;
	struct loop *loop = loop_new();
	struct manager *m = manager_new(loop, NULL);
	struct call *c = start(&w, "2026-07-28");
	struct fail f = { 0 };
	json_auto_t *token = json_string("t");
	call_set_progress(c, loop, token);
	c->op = manager_stop(conversation_open(m, NULL), &(struct stop_request){ .session_id = "s", .on_done = done },
			     &f);
	call_output(c, "x\n", 2);
	unsigned before = fake.cancelled;
	call_cancel(c);
	assert_int_equal(fake.cancelled, before + 1);
	loop_run(loop);
	assert_null(w.reply);
	assert_int_equal(json_array_size(w.progress), 0);
	assert_int_equal(w.closed, 1);
	manager_free(m);
	loop_free(loop);
	finish(&w);
}

struct talker {
	struct loop *loop;
	struct call *call;
	unsigned n, max;
	struct timer *timer;
};

static void talk(void *ctx)
{
	struct talker *t = ctx;
	AUTO(freep) char *line = xasprintf("line %u\n", ++t->n);
	call_output(t->call, line, strlen(line));
	if (t->n >= t->max) {
		call_reply(t->call, json_object());
		loop_stop(t->loop, 0);
	}
}

static struct wire talk_for(unsigned ms, const char *revision, json_t *token)
{
	struct wire w;
	struct talker t = { .loop = loop_new(), .max = ms / 5 };
	t.call = start(&w, revision);
	call_set_progress(t.call, t.loop, token);
	t.timer = timer_new(t.loop, talk, &t);
	timer_start(t.timer, 5, 5);
	loop_run(t.loop);
	timer_free(t.timer);
	loop_free(t.loop);
	return w;
}

static void progress_is_rate_limited_and_rises(void **state)
{
	json_auto_t *token = json_string("tok");
	struct wire w = talk_for(1300, "2025-11-25", token);
	size_t n = json_array_size(w.progress);
	assert_in_range(n, 1, 3);
	for (size_t i = 0; i < n; i++) {
		const json_t *p = json_array_get(w.progress, i);
		assert_true(json_equal(json_object_get(p, "progressToken"), token));
		assert_int_equal(json_integer_value(json_object_get(p, "progress")), i + 1);
		assert_memory_equal(json_string_value(json_object_get(p, "message")), "line ", 5);
	}
	assert_non_null(w.reply);
	finish(&w);
}

static void a_quick_call_sends_its_answer_only(void **state)
{
	json_auto_t *token = json_integer(0);
	struct wire w = talk_for(100, "2026-07-28", token);
	assert_int_equal(json_array_size(w.progress), 0);
	finish(&w);
}

static void the_oldest_revision_has_no_message(void **state)
{
	json_auto_t *token = json_integer(0);
	struct wire w = talk_for(800, "2024-11-05", token);
	assert_true(json_array_size(w.progress) > 0);
	assert_null(json_object_get(json_array_get(w.progress, 0), "message"));
	finish(&w);
}

static void expect_text(const char *output, const char *want)
{
	AUTO(freep) char *got = call_progress_text(output, strlen(output));
	assert_string_equal(got, want);
}

static void shows_the_last_lines(void **state)
{
	expect_text("", "");
	expect_text("\n\n", "");
	expect_text("a", "a");
	expect_text("a\n", "a");
	expect_text("a\nb\nc\nd\n\n", "b\nc\nd");
	expect_text("10%\r50%\r90%", "90%");
	expect_text("10%\r50%\r", "50%");
	expect_text("x\r\ny\r\n", "x\ny");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modern_results_get_the_common_fields),
		cmocka_unit_test(legacy_results_do_not),
		cmocka_unit_test(an_answer_is_made_once_by_a_worker),
		cmocka_unit_test(a_large_answer_is_printed_by_a_worker),
		cmocka_unit_test(cancel_stops_the_work_without_an_answer),
		cmocka_unit_test(progress_is_rate_limited_and_rises),
		cmocka_unit_test(a_quick_call_sends_its_answer_only),
		cmocka_unit_test(the_oldest_revision_has_no_message),
		cmocka_unit_test(shows_the_last_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
