/* The fake engine keeps the contract of engine.h, so tests on it are valid for a real engine. */
#include "base/alloc.h"
#include "manager/line/wire.h"
#include "manager/model/runtime.h"
#include "tests/fake-engine/fake-pid1.h"
#include "tests/unit/unit.h"

struct bench {
	struct loop *loop;
	struct fake *fake;
	struct engine *engine;
	struct engine_stream *stream;
	struct engine_watch *watch;
	size_t done; /* number of calls that have ended */
	struct fail fail;
	struct wire wire;
	struct buf text;   /* events: "die 137 husk-a\n" */
	struct buf frames; /* their types and payloads */
	bool closed, watch_closed;
	struct fail why;
};

static struct bench b;

static int setup(void **state)
{
	b = (struct bench){ .loop = loop_new() };
	b.fake = fake_new(b.loop, &fake_pid1_script);
	b.engine = engine_open(FAKE_NAME, &(struct engine_options){ .loop = b.loop }, &b.fail);
	fake_on_call = NULL;
	fake_on_interrupt = NULL;
	fake_kernel_at_start = "ready";
	return b.engine ? 0 : -1;
}

static int teardown(void **state)
{
	b.engine->ops->stream_free(b.stream);
	b.engine->ops->watch_free(b.watch);
	b.engine->ops->free(b.engine);
	fake_free(b.fake);
	loop_free(b.loop);
	wire_release(&b.wire);
	buf_release(&b.text);
	buf_release(&b.frames);
	fail_release(&b.fail);
	fail_release(&b.why);
	return 0;
}

static void on_done(void *ctx UNUSED, const struct fail *f)
{
	b.done++;
	fail_release(&b.fail);
	if (f)
		fail_copy(&b.fail, f);
}

static void on_created(void *ctx, const struct engine_created *created UNUSED, const struct fail *f)
{
	on_done(ctx, f);
}

static const char *image(void)
{
	size_t n;
	return runtime_list(&n)[0].image;
}

static struct engine_task *start_create(const char *name)
{
	struct container_spec spec = { .name = name, .image = image(), .store = "s", .owner = "o", .lease = 300 };
	return b.engine->ops->create(b.engine, &spec, on_created, NULL);
}

static void create(const char *name)
{
	size_t before = b.done;
	start_create(name);
	assert_int_equal(b.done, before); /* the callback never runs inside the call */
	FAKE_UNTIL(b.fake, b.done > before);
}

static void on_bytes(void *ctx UNUSED, const void *data, size_t n)
{
	struct wire_frame frame;
	wire_feed(&b.wire, data, n);
	while (wire_next(&b.wire, &frame) == 1)
		buf_printf(&b.frames, "%d:%u:%.*s\n", frame.type, frame.call, (int)frame.n,
			   (const char *)frame.payload);
}

static void on_closed(void *ctx UNUSED, const struct fail *f)
{
	assert_false(b.closed);
	b.closed = true;
	fail_copy(&b.why, f);
}

static void attach(const char *name)
{
	AUTO(buf_release) struct buf hello = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	b.stream = b.engine->ops->stream_free(b.stream);
	b.closed = false;
	b.stream = b.engine->ops->attach(b.engine, name,
					 &(struct stream_handler){ .on_bytes = on_bytes, .on_closed = on_closed }, &f);
	assert_non_null(b.stream);
	wire_put_hello(&hello, 1);
	b.engine->ops->stream_write(b.stream, hello.data, hello.len);
}

static void send_run(uint32_t call, const char *code)
{
	AUTO(buf_release) struct buf out = { 0 };
	wire_put_run(&out, call,
		     &(struct wire_run){ .text = code,
					 .len = strlen(code),
					 .timeout_ms = 60000,
					 .stdout_limit = 1000,
					 .stderr_limit = 1000 });
	b.engine->ops->stream_write(b.stream, out.data, out.len);
}

static bool heard(const char *words)
{
	return strstr(buf_str(&b.frames), words) != NULL;
}

static void on_event(void *ctx UNUSED, const struct engine_event *event)
{
	static const char *const names[] = { [EVENT_DIE] = "die", [EVENT_OOM] = "oom", [EVENT_DESTROY] = "destroy" };
	buf_printf(&b.text, "%s %d %s\n", names[event->kind], event->exit_code, event->container);
}

static void on_watch_closed(void *ctx UNUSED)
{
	b.watch_closed = true;
}

static void watch(const char *store)
{
	b.watch = b.engine->ops->watch(b.engine, store,
				       &(struct watch_handler){ .on_event = on_event, .on_closed = on_watch_closed },
				       &b.fail);
}

/* --- containers -------------------------------------------------------------------------------------------------- */

static void a_container_is_created_and_removed(void **state)
{
	create("husk-a");
	assert_false(b.fail.kind);
	const struct fake_container *c = fake_only(b.fake);
	assert_true(c->running);
	assert_string_equal(c->store, "s");
	b.engine->ops->remove(b.engine, &(struct container_ref){ "husk-a" }, on_done, NULL);
	FAKE_UNTIL(b.fake, b.done == 2);
	assert_int_equal(fake_count(b.fake), 0);
	b.engine->ops->remove(b.engine, &(struct container_ref){ "husk-a" }, on_done, NULL); /* not there, but no
	                                                                                      * error */
	FAKE_UNTIL(b.fake, b.done == 3);
	assert_false(b.fail.kind);
}

static void a_create_can_fail_and_leaves_nothing(void **state)
{
	fake_fail(b.fake, FAKE_CREATE, 1, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "no");
	create("husk-a");
	assert_int_equal(cause_of(&b.fail), CAUSE_ENGINE_REFUSED);
	assert_int_equal(fake_count(b.fake), 0);
	create("husk-a");
	assert_false(b.fail.kind);
	fake_image_remove(b.fake, image());
	create("husk-b");
	assert_int_equal(b.fail.kind, FAIL_IMAGE);
}

static void a_create_can_hang_and_be_cancelled(void **state)
{
	fake_hold(b.fake, FAKE_CREATE);
	struct engine_task *t = start_create("husk-a");
	start_create("husk-b");
	loop_skip(b.loop, 3600000);
	assert_int_equal(b.done, 0);
	assert_int_equal(fake_pending(b.fake, FAKE_CREATE), 2);
	b.engine->ops->task_cancel(t);
	fake_let_go(b.fake, FAKE_CREATE);
	FAKE_UNTIL(b.fake, b.done == 1);
	assert_non_null(fake_find(b.fake, "husk-b"));
	assert_null(fake_find(b.fake, "husk-a"));
}

static void a_removal_can_hang(void **state)
{
	create("husk-a");
	fake_hold(b.fake, FAKE_REMOVE);
	b.engine->ops->remove(b.engine, &(struct container_ref){ "husk-a" }, on_done, NULL);
	loop_skip(b.loop, 3600000);
	assert_int_equal(b.done, 1);
	assert_int_equal(fake_count(b.fake), 1);
}

static void only_ended_containers_are_removed(void **state)
{
	fake_add(b.fake, "husk-old", "s", "o", /* running= */ false, 1);
	fake_add(b.fake, "husk-runs", "s", "o", /* running= */ true, 1);
	b.engine->ops->remove_ended(b.engine, "husk-old", on_done, NULL);
	FAKE_UNTIL(b.fake, b.done == 1);
	assert_false(b.fail.kind);
	b.engine->ops->remove_ended(b.engine, "husk-runs", on_done, NULL);
	FAKE_UNTIL(b.fake, b.done == 2);
	assert_int_equal(b.fail.kind, FAIL_ENGINE);
	assert_string_equal(fake_only(b.fake)->name, "husk-runs");
}

static void an_engine_that_is_down_fails_everything(void **state)
{
	create("husk-a");
	attach("husk-a");
	watch("s");
	fake_hold(b.fake, FAKE_REMOVE);
	b.engine->ops->remove(b.engine, &(struct container_ref){ "husk-a" }, on_done, NULL);
	fake_go_down(b.fake);
	FAKE_UNTIL(b.fake, b.done == 2 && b.closed && b.watch_closed);
	assert_int_equal(cause_of(&b.fail), CAUSE_NO_ENGINE);
	assert_int_equal(cause_of(&b.why), CAUSE_NO_ENGINE);
	fake_come_up(b.fake);
	fake_let_go(b.fake, FAKE_REMOVE);
	attach("husk-a");
	FAKE_UNTIL(b.fake, heard("1:0:"));
}

/* --- events ------------------------------------------------------------------------------------------------------ */

static void deaths_are_reported_to_watchers_of_the_store(void **state)
{
	watch("s");
	create("husk-a");
	create("husk-b");
	fake_die(fake_find(b.fake, "husk-a"), 0, /* oom= */ true);
	fake_vanish(fake_add(b.fake, "husk-x", "other", "o", true, 1));
	fake_hold(b.fake, FAKE_WATCH);
	FAKE_UNTIL(b.fake, fake_count(b.fake) == 1);
	assert_int_equal(b.text.len, 0);
	fake_let_go(b.fake, FAKE_WATCH);
	fake_die(fake_find(b.fake, "husk-b"), 3, /* oom= */ false);
	FAKE_UNTIL(b.fake, strstr(buf_str(&b.text), "destroy 3 husk-b"));
	assert_string_equal(buf_str(&b.text),
			    "oom 137 husk-a\ndie 137 husk-a\ndestroy 137 husk-a\ndie 3 husk-b\ndestroy 3 husk-b\n");
}

static void on_state(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct engine_state *ret = ctx;
	*ret = answer->container;
	b.done++;
}

static void an_engine_without_events_can_be_inspected(void **state)
{
	struct engine_state found = { 0 };
	fake_capabilities(b.fake)->feeds_events = false;
	fake_keep_ended(b.fake, true);
	watch("s");
	assert_null(b.watch);
	assert_int_equal(cause_of(&b.fail), CAUSE_NOT_SUPPORTED);
	create("husk-a");
	fake_die(fake_only(b.fake), 3, /* oom= */ false);
	struct query_spec spec = {
		.kind = ENGINE_QUERY_CONTAINER, .subject = "husk-a", .done = on_state, .ctx = &found
	};
	struct engine_query *q = b.engine->ops->query(b.engine, &spec, &b.fail);
	FAKE_UNTIL(b.fake, b.done == 2);
	b.engine->ops->query_free(q);
	assert_true(found.is_there && !found.running && !found.oom);
	assert_int_equal(found.exit_code, 3);
}

/* --- a played PID 1 ---------------------------------------------------------------------------------------------- */

static void take_note(struct fake_container *c, struct fake_call *call)
{
	fake_call_out(c, call, "so far");
}

static void unacknowledged_frames_are_replayed(void **state)
{
	fake_on_call = take_note;
	create("husk-a");
	attach("husk-a");
	FAKE_UNTIL(b.fake, heard("1:0:{"));
	send_run(1, "x");
	FAKE_UNTIL(b.fake, heard("16:1:so far\n"));
	fake_break(fake_stream(fake_only(b.fake)), FAIL_ENGINE, CAUSE_NONE, "a cable");
	FAKE_UNTIL(b.fake, b.closed);
	assert_string_equal(b.why.message, "a cable");
	struct fake_call *call = fake_call_find(fake_only(b.fake), 1);
	assert_string_equal(call->text, "x");
	fake_call_end(fake_only(b.fake), call, "ok");
	buf_reset(&b.frames);
	attach("husk-a");
	FAKE_UNTIL(b.fake, heard("21:1:{\"ending\":\"ok\""));
	assert_true(heard(
		"23:1:{\"kind\":\"execute\",\"state\":\"ended\",\"told\":0,\"by\":\"\",\"detached\":false}\n16:1:so far\n"));
}

static void frames_can_come_byte_by_byte(void **state)
{
	fake_cut(b.fake, 1);
	create("husk-a");
	attach("husk-a");
	send_run(1, "x");
	FAKE_UNTIL(b.fake, heard("21:1:{\"ending\":\"ok\""));
}

static void attaching_to_a_missing_container_fails(void **state)
{
	attach("husk-none");
	FAKE_UNTIL(b.fake, b.closed);
	assert_int_equal(b.why.kind, FAIL_DIED);
	assert_int_equal(cause_of(&b.why), CAUSE_NO_CONTAINER);
}

static void on_any_frame(void *ctx, struct engine_stream *s, const struct frame *frame)
{
	size_t *n = ctx;
	(*n)++;
	fake_send_bytes(s, "OCI runtime exec failed", 23);
	fake_die(fake_stream_container(s), 9, /* oom= */ false);
}

static void a_script_may_do_anything(void **state)
{
	size_t n = 0;
	struct fake_script script = { .on_frame = on_any_frame, .ctx = &n };
	fake_play(b.fake, &script);
	create("husk-a");
	attach("husk-a");
	FAKE_UNTIL(b.fake, b.closed);
	assert_int_equal(n, 1);
	assert_int_equal(b.why.kind, FAIL_DIED);
	assert_int_equal(fake_count(b.fake), 0);
}

/* --- a real PID 1 ------------------------------------------------------------------------------------------------ */

static void a_real_pid_1_runs_a_cell(void **state)
{
	fake_play(b.fake, /* script= */ NULL);
	create("husk-a");
	if (b.fail.kind)
		fail_msg("%s", b.fail.message);
	attach("husk-a");
	FAKE_UNTIL(b.fake, heard("1:0:{") || b.closed);
	if (b.closed)
		fail_msg("%s", b.why.message);
	send_run(1, "print(6 * 7)");
	FAKE_UNTIL(b.fake, heard("21:1:{\"ending\":\"ok\""));
	assert_true(heard("16:1:42\n"));
}

static void a_real_pid_1_stops_on_request(void **state)
{
	fake_play(b.fake, /* script= */ NULL);
	watch("s");
	create("husk-a");
	if (b.fail.kind)
		fail_msg("%s", b.fail.message);
	attach("husk-a");
	FAKE_UNTIL(b.fake, heard("1:0:{"));
	AUTO(buf_release) struct buf stop = { 0 };
	wire_put(&stop, FRAME_STOP, 0, NULL, 0);
	b.engine->ops->stream_write(b.stream, stop.data, stop.len);
	FAKE_UNTIL(b.fake, b.closed); /* the cause may be missing: the engine may not know it yet */
	FAKE_UNTIL(b.fake, strstr(buf_str(&b.text), "die 0 husk-a\ndestroy 0 husk-a\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_container_is_created_and_removed),
		TEST(a_create_can_fail_and_leaves_nothing),
		TEST(a_create_can_hang_and_be_cancelled),
		TEST(a_removal_can_hang),
		TEST(only_ended_containers_are_removed),
		TEST(an_engine_that_is_down_fails_everything),
		TEST(deaths_are_reported_to_watchers_of_the_store),
		TEST(an_engine_without_events_can_be_inspected),
		TEST(unacknowledged_frames_are_replayed),
		TEST(frames_can_come_byte_by_byte),
		TEST(attaching_to_a_missing_container_fails),
		TEST(a_script_may_do_anything),
		TEST(a_real_pid_1_runs_a_cell),
		TEST(a_real_pid_1_stops_on_request),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
