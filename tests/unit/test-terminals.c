/* Terminals for people, on the fake engine: bytes and credit in both directions, their ends, and the log. They are
 * used in the manager and from an attached program. */
#include "api/local.h"
#include "attach/client.h"
#include "base/alloc.h"
#include "kernels/protocol.h"
#include "manager/manager.h"
#include "tests/unit/manager-bench.h"
#include "tests/unit/unit.h"

static struct bench b;
static struct fake *fake;
static struct manager *manager;
static struct conversation *conversation;
static struct fake_script script;
static struct local_server *server;
static struct attach *attach;

/* Frames that the fake PID 1 received. */
static struct {
	uint32_t number;
	char *opened; /* JSON */
	char *size;
	struct buf keys;
	uint64_t credit;
	unsigned hung_up;
} heard;

/* Events from the manager. */
static struct {
	char *session;
	struct buf shown;
	size_t written;
	unsigned ends;
	bool ok;
	int code;
	struct fail fail;
	struct executed last;
	size_t n_executed;
} got;

static void on_frame(void *ctx, struct engine_stream *s, const struct frame *frame)
{
	bool ours = heard.number && frame->header.call == heard.number;
	const char *text = (const char *)frame->payload;
	switch (frame->header.type) {
	case FRAME_CONSOLE:
		heard.number = frame->header.call;
		heard.opened = xstrndup(text, frame->header.length);
		return;
	case FRAME_CONSOLE_SIZE:
		free(heard.size);
		heard.size = xstrndup(text, frame->header.length);
		return;
	case FRAME_CONSOLE_DATA:
		assert_true(ours);
		buf_add(&heard.keys, text, frame->header.length);
		return;
	case FRAME_CREDIT:
		assert_true(ours);
		heard.credit +=
			(uint64_t)frame->payload[1] << 16 | (uint64_t)frame->payload[2] << 8 | frame->payload[3];
		return;
	case FRAME_INTERRUPT:
		if (!ours)
			break;
		heard.hung_up++;
		return;
	default:
		break;
	}
	fake_pid1_script.on_frame(ctx, s, frame);
}

static int setup(void **state)
{
	fake = manager_bench_begin(&b);
	manager_bench_load(&b);
	script = fake_pid1_script;
	script.on_frame = on_frame;
	fake_play(fake, &script);
	fake_consoles = 4;
	manager = manager_new(b.loop, &b.config);
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "t" });
	return 0;
}

static int teardown(void **state)
{
	attach = attach_free(attach);
	manager_free(manager);
	server = local_server_free(server, /* manager_gone= */ true);
	free(heard.opened);
	free(heard.size);
	buf_release(&heard.keys);
	memset(&heard, 0, sizeof(heard));
	free(got.session);
	buf_release(&got.shown);
	fail_release(&got.fail);
	memset(&got, 0, sizeof(got));
	manager_bench_end(&b, fake);
	return 0;
}

static void on_created(void *ctx UNUSED, const struct create_result *result, const struct fail *f)
{
	assert_null(f);
	got.session = xstrdup(result->session->id);
}

static void create(void)
{
	struct create_request request = { .runtime = runtime_find("python"), .on_done = on_created };
	assert_non_null(manager_create(conversation, &request, &got.fail));
	FAKE_UNTIL(fake, got.session);
}

static void on_bytes(void *ctx UNUSED, const void *data, size_t n)
{
	buf_add(&got.shown, data, n);
}

static void on_written(void *ctx UNUSED, size_t n)
{
	got.written += n;
}

static void on_end(void *ctx UNUSED, const struct terminal_end *end, const struct fail *f)
{
	got.ends++;
	got.ok = end != NULL;
	got.code = end ? end->exit_code : 0;
	if (f)
		fail_copy(&got.fail, f);
}

static struct op *start_terminal(const char *const *command, size_t n)
{
	return manager_terminal(conversation,
				&(struct terminal_request){ .session_id = got.session,
							    .command = command,
							    .n_command = n,
							    .term = "xterm",
							    .rows = 30,
							    .cols = 100000,
							    .on_bytes = on_bytes,
							    .on_written = on_written,
							    .on_end = on_end },
				&got.fail);
}

static struct op *open_terminal(void)
{
	struct op *op = start_terminal(NULL, 0);
	assert_non_null(op);
	FAKE_UNTIL(fake, heard.number);
	return op;
}

static void send_data(size_t n)
{
	AUTO(freep) char *data = xcalloc(1, n);
	memset(data, 'x', n);
	fake_send(fake_stream(fake_only(fake)), FRAME_CONSOLE_DATA, heard.number, data, n);
}

static void send_end(const char *payload)
{
	fake_send(fake_stream(fake_only(fake)), FRAME_END, heard.number, payload, strlen(payload));
}

static void on_ran(void *ctx, const struct run_result *result, const struct fail *f UNUSED)
{
	*(bool *)ctx = result && result->ending == ENDING_OK;
}

static bool can_run(void)
{
	bool ran = false;
	struct run_request request = { .kind = RUN_CODE,
				       .session_id = got.session,
				       .text = "1",
				       .len = 1,
				       .timeout_seconds = 60,
				       .on_done = on_ran,
				       .ctx = &ran };
	assert_non_null(manager_run(conversation, &request, &got.fail));
	FAKE_UNTIL(fake, ran);
	return ran;
}

static void on_history(void *ctx, const struct history *history, const struct fail *f)
{
	assert_null(f);
	for (size_t i = 0; i < history->n; i++) {
		if (!streq(history->v[i].tool, "shell"))
			continue;
		got.n_executed++;
		got.last = history->v[i];
		got.last.ending = ctx; /* the row's own strings are only valid here */
		assert_int_equal(history->v[i].ending == NULL, ctx == NULL);
		if (ctx)
			assert_string_equal(history->v[i].ending, ctx);
	}
	got.written = SIZE_MAX;
}

/* The log has one terminal, which ended like this; NULL = it has not ended. */
static void check_log(const char *ending)
{
	got.n_executed = 0;
	got.written = 0;
	struct history_request request = {
		.session_id = got.session, .limit = 10, .on_done = on_history, .ctx = (void *)ending
	};
	assert_non_null(manager_history(manager, &request, &got.fail));
	FAKE_UNTIL(fake, got.written == SIZE_MAX);
	assert_int_equal(got.n_executed, 1);
	assert_int_equal(got.last.in_bytes, 0);
}

/* --- tests ------------------------------------------------------------------------------------------------------- */

static void bytes_flow_both_ways_until_the_program_ends(void **state)
{
	const char *const command[] = { "vi", "a b" };
	create();
	struct op *op = start_terminal(command, 2);
	assert_non_null(op);
	FAKE_UNTIL(fake, heard.number);
	assert_string_equal(heard.opened,
			    "{\"rows\":30,\"cols\":4096,\"command\":[\"vi\",\"a b\"],\"term\":\"xterm\"}");
	assert_int_equal(terminal_write(op, "keys\0\xff", 6), 0);
	terminal_resize(op, 0, 132);
	FAKE_UNTIL(fake, heard.size);
	assert_string_equal(heard.size, "{\"rows\":1,\"cols\":132}");
	assert_memory_equal(heard.keys.data, "keys\0\xff", 6);
	send_data(5);
	FAKE_UNTIL(fake, got.shown.len == 5);
	assert_true(can_run()); /* while the terminal is open */
	send_end("{\"ending\":\"error\",\"exit_code\":7,\"duration_ms\":1}");
	FAKE_UNTIL(fake, got.ends);
	assert_true(got.ok && got.code == 7 && got.ends == 1);
	check_log("error");
	assert_int_equal(got.last.out_bytes, 5);
}

static void both_directions_need_credit(void **state)
{
	static char much[TERMINAL_WINDOW];
	create();
	struct op *op = open_terminal();
	assert_int_equal(terminal_write(op, much, sizeof(much)), 0);
	assert_true(terminal_write(op, "x", 1) < 0);
	FAKE_UNTIL(fake, heard.keys.len == sizeof(much));
	fake_send(fake_stream(fake_only(fake)), FRAME_CREDIT, heard.number, "\0\0\0\x03", 4);
	FAKE_UNTIL(fake, got.written == 3);
	assert_true(terminal_write(op, much, 4) < 0);
	assert_int_equal(terminal_write(op, much, 3), 0);

	for (unsigned i = 0; i < 16; i++)
		send_data(CONSOLE_DATA_MAX);
	FAKE_UNTIL(fake, got.shown.len == CONSOLE_OUT_WINDOW);
	terminal_taken(op, 1000);
	assert_true(can_run());
	assert_int_equal(heard.credit, 0);	/* the amount is too small */
	terminal_taken(op, CONSOLE_OUT_WINDOW); /* a value above the rest counts as the whole rest */
	FAKE_UNTIL(fake, heard.credit == CONSOLE_OUT_WINDOW);
	/* The teardown frees the manager while the terminal is open. */
}

/* evidence: consoles */
static void a_pid_1_that_exceeds_its_credit_is_disconnected(void **state)
{
	create();
	(void)open_terminal();
	for (unsigned i = 0; i < 17; i++)
		send_data(CONSOLE_DATA_MAX);
	FAKE_UNTIL(fake, got.ends);
	assert_int_equal(cause_of(&got.fail), CAUSE_PROTOCOL);
}

static void a_cancel_hangs_the_terminal_up(void **state)
{
	create();
	struct op *op = open_terminal();
	op_cancel(op);
	FAKE_UNTIL(fake, heard.hung_up == 1);
	send_data(100); /* PID 1 sent it before it saw the hang-up */
	send_end("{\"ending\":\"interrupted\",\"exit_code\":129}");
	assert_true(can_run());
	assert_int_equal(got.shown.len, 0);
	assert_int_equal(got.ends, 0);
	check_log("interrupted");
}

static void a_broken_stream_ends_the_terminal_but_not_the_session(void **state)
{
	create();
	(void)open_terminal();
	check_log(NULL);
	fake_break(fake_stream(fake_only(fake)), FAIL_ENGINE, CAUSE_NONE, "the stream ended");
	FAKE_UNTIL(fake, got.ends);
	assert_int_equal(cause_of(&got.fail), CAUSE_STREAM_BROKE);
	assert_true(can_run());
	check_log("interrupted");
}

static void on_stopped(void *ctx UNUSED, const struct fail *f UNUSED)
{
	got.written = SIZE_MAX;
}

static void a_terminal_ends_with_its_session(void **state)
{
	create();
	(void)open_terminal();
	struct stop_request request = { .session_id = got.session, .on_done = on_stopped };
	assert_non_null(manager_stop(conversation, &request, &got.fail));
	FAKE_UNTIL(fake, got.ends && got.written == SIZE_MAX);
	assert_int_equal(cause_of(&got.fail), CAUSE_STOPPED);
}

static void a_refused_or_unsupported_terminal_is_reported(void **state)
{
	create();
	(void)open_terminal();
	send_end("{\"ending\":\"refused\",\"detail\":\"No room.\"}");
	FAKE_UNTIL(fake, got.ends);
	assert_int_equal(got.fail.kind, FAIL_BUSY);
	assert_string_equal(got.fail.message, "No room.");

	free(take_ptr(got.session));
	fake_consoles = 0;
	create();
	assert_null(start_terminal(NULL, 0));
	assert_int_equal(cause_of(&got.fail), CAUSE_OLD_SESSION);
}

static void note_idle(void *ctx, const struct session_info *info)
{
	*(uint64_t *)ctx = info->idle_seconds;
}

static void an_open_terminal_counts_as_use(void **state)
{
	uint64_t idle = 0;
	create();
	struct op *op = open_terminal();
	loop_skip(b.loop, 100000);
	conversation_each_session(conversation, note_idle, &idle);
	assert_int_equal(idle, 0);
	op_cancel(op);
	loop_skip(b.loop, 100000);
	conversation_each_session(conversation, note_idle, &idle);
	assert_true(idle >= 100);
}

/* --- attached ---------------------------------------------------------------------------------------------------- */

static struct attach_call *open_attached(void)
{
	server = local_server_new(
		&(struct api_spec){
			.loop = b.loop, .config = &b.config, .manager = manager, .conversation = conversation },
		/* api= */ NULL);
	attach = attach_new(&(struct attach_spec){ .loop = b.loop, .server = server, .fd = -1 });
	const char *const command[] = { "vi" };
	struct terminal_request request = { .session_id = got.session,
					    .command = command,
					    .n_command = 1,
					    .rows = 30,
					    .cols = 100,
					    .on_bytes = on_bytes,
					    .on_written = on_written,
					    .on_end = on_end };
	struct attach_call *call = attach_terminal(attach, &request, &got.fail);
	assert_non_null(call);
	FAKE_UNTIL(fake, heard.number);
	return call;
}

static void an_attached_client_has_a_terminal(void **state)
{
	static char much[TERMINAL_WINDOW];
	create();
	struct attach_call *call = open_attached();
	assert_string_equal(heard.opened, "{\"rows\":30,\"cols\":100,\"command\":[\"vi\"]}");
	assert_int_equal(attach_terminal_write(call, much, sizeof(much)), 0);
	assert_true(attach_terminal_write(call, "x", 1) < 0);
	FAKE_UNTIL(fake, heard.keys.len == sizeof(much));
	fake_send(fake_stream(fake_only(fake)), FRAME_CREDIT, heard.number, "\0\0\0\x03", 4);
	FAKE_UNTIL(fake, got.written == 3);
	attach_terminal_resize(call, 50, 132);
	FAKE_UNTIL(fake, heard.size);
	assert_string_equal(heard.size, "{\"rows\":50,\"cols\":132}");
	for (unsigned i = 0; i < 16; i++)
		send_data(CONSOLE_DATA_MAX);
	FAKE_UNTIL(fake, got.shown.len == CONSOLE_OUT_WINDOW);
	attach_terminal_taken(call, CONSOLE_OUT_WINDOW);
	FAKE_UNTIL(fake, heard.credit == CONSOLE_OUT_WINDOW);
	send_end("{\"ending\":\"error\",\"exit_code\":130,\"signal\":2}");
	FAKE_UNTIL(fake, got.ends);
	assert_true(got.ok && got.code == 130 && got.ends == 1);
}

static void a_client_that_disconnects_hangs_the_terminal_up(void **state)
{
	create();
	(void)open_attached();
	attach = attach_free(attach);
	FAKE_UNTIL(fake, heard.hung_up == 1);
	assert_true(can_run());
	assert_int_equal(got.ends, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(bytes_flow_both_ways_until_the_program_ends),
		TEST(both_directions_need_credit),
		TEST(a_pid_1_that_exceeds_its_credit_is_disconnected),
		TEST(a_cancel_hangs_the_terminal_up),
		TEST(a_broken_stream_ends_the_terminal_but_not_the_session),
		TEST(a_terminal_ends_with_its_session),
		TEST(a_refused_or_unsupported_terminal_is_reported),
		TEST(an_open_terminal_counts_as_use),
		TEST(an_attached_client_has_a_terminal),
		TEST(a_client_that_disconnects_hangs_the_terminal_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
