/* kernels/jupyter/outputs: a kernel's messages about a cell, and the messages that are sent on the link for them. */
#include "kernels/jupyter/outputs.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

#define NOW "now"
#define BEFORE "before"
#define SEND_MAX 4000

/* Everything that was sent, in order, one per line: "out:text", "err:text", or the message as JSON. */
struct probe {
	struct outputs outputs;
	struct buf log;
};

static void on_write(struct outputs *o, int fd, const void *data, size_t n)
{
	struct probe *p = container_of(o, struct probe, outputs);
	buf_printf(&p->log, "%s:%.*s|", fd == STDOUT_FILENO ? "out" : "err", (int)n, (const char *)data);
}

static bool on_send(struct outputs *o, const json_t *message)
{
	struct probe *p = container_of(o, struct probe, outputs);
	AUTO(freep) char *text = json_dumps(message, JSON_COMPACT | JSON_SORT_KEYS);
	if (strlen(text) > SEND_MAX)
		return false;
	buf_printf(&p->log, "%s|", text);
	return true;
}

static int set_up(void **state)
{
	struct probe *p = new0(struct probe);
	p->outputs = (struct outputs){ .write = on_write, .send = on_send };
	outputs_init(&p->outputs);
	outputs_begin(&p->outputs, 7, NOW);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct probe *p = *state;
	outputs_release(&p->outputs);
	buf_release(&p->log);
	free(p);
	return 0;
}

static struct message message_of(const char *type, const char *parent, json_t *content)
{
	struct message m = {
		.header = json_object(),
		.parent = json_pack("{s:s, s:s}", "msg_id", parent, "msg_type", "execute_request"),
		.metadata = json_object(),
		.content = content,
		.type = type,
		.id = "x",
	};
	m.parent_id = json_string_value(json_object_get(m.parent, "msg_id"));
	return m;
}

static void publish(struct probe *p, const char *type, const char *parent, json_t *content)
{
	struct message m = message_of(type, parent, content);
	outputs_published(&p->outputs, &m);
	message_release(&m);
}

static void reply(struct probe *p, const char *parent, json_t *content)
{
	struct message m = message_of("execute_reply", parent, content);
	outputs_replied(&p->outputs, &m);
	message_release(&m);
}

static void print(struct probe *p, const char *parent, const char *text)
{
	publish(p, "stream", parent, json_pack("{s:s, s:s}", "name", "stdout", "text", text));
}

static void display(struct probe *p, const char *parent, const char *text, const char *id, bool update)
{
	publish(p, update ? "update_display_data" : "display_data", parent,
		json_pack("{s:{s:s}, s:{s:s*}}", "data", "text/plain", text, "transient", "display_id", id));
}

static void clear(struct probe *p, bool wait)
{
	publish(p, "clear_output", NOW, json_pack("{s:b}", "wait", wait));
}

static void status(struct probe *p, const char *parent, const char *what)
{
	publish(p, "status", parent, json_pack("{s:s}", "execution_state", what));
}

/* Messages since the last call. */
static void assert_log(struct probe *p, const char *expected)
{
	assert_string_equal(buf_str(&p->log), expected);
	buf_reset(&p->log);
}

static void assert_end(struct probe *p, const char *expected)
{
	outputs_finish(&p->outputs);
	AUTO(freep) char *all = xasprintf("%s{\"id\":7,\"op\":\"done\"}|", expected);
	assert_log(p, all);
}

static void a_cell_ends_with_reply_and_idle(void **state)
{
	struct probe *p = *state;
	status(p, NOW, "busy");
	status(p, BEFORE, "idle");
	reply(p, BEFORE, json_pack("{s:s}", "status", "ok"));
	assert_false(outputs_complete(&p->outputs));
	status(p, NOW, "idle");
	assert_false(outputs_complete(&p->outputs));
	reply(p, NOW, json_pack("{s:s}", "status", "ok"));
	assert_true(outputs_complete(&p->outputs));
	assert_end(p, "");

	outputs_begin(&p->outputs, 7, "next");
	reply(p, "next", json_pack("{s:s}", "status", "ok"));
	assert_false(outputs_complete(&p->outputs));
	status(p, "next", "idle");
	assert_true(outputs_complete(&p->outputs));
}

static void text_is_passed_on_at_once(void **state)
{
	struct probe *p = *state;
	print(p, NOW, "one\n");
	publish(p, "stream", NOW, json_pack("{s:s, s:s}", "name", "stderr", "text", "two"));
	assert_log(p, "out:one\n|err:two|");
	publish(p, "stream", NOW, json_pack("{s:s, s:i}", "name", "stdout", "text", 5));
	publish(p, "stream", NOW, json_object());
	assert_log(p, "");
}

static void the_last_result_is_the_value(void **state)
{
	struct probe *p = *state;
	publish(p, "execute_result", NOW, json_pack("{s:{s:s}}", "data", "text/plain", "1"));
	publish(p, "execute_result", BEFORE, json_pack("{s:{s:s}}", "data", "text/plain", "old"));
	publish(p, "execute_result", NOW, json_pack("{s:{s:s}}", "data", "text/plain", "2"));
	publish(p, "execute_result", NOW, json_pack("{s:{s:s}}", "data", "text/plain", ""));
	assert_end(
		p,
		"{\"data\":{\"text/plain\":\"1\"},\"id\":7,\"op\":\"display\"}|{\"data\":{\"text/plain\":\"2\"},\"id\":7,\"op\":\"result\"}|");
}

static void one_error_is_reported(void **state)
{
	struct probe *p = *state;
	json_t *error = json_pack("{s:s, s:s, s:s, s:[s, s]}", "status", "error", "ename", "E", "evalue", "m",
				  "traceback", "\x1b[31mfirst\x1b[0m", "second");
	reply(p, NOW, json_incref(error));
	assert_log(p, "");
	publish(p, "error", NOW, json_incref(error));
	publish(p, "error", NOW, error);
	assert_end(p, "{\"id\":7,\"message\":\"m\",\"op\":\"error\",\"traceback\":\"first\\nsecond\",\"type\":\"E\"}|");
}

static void an_error_only_in_the_reply_is_reported(void **state)
{
	struct probe *p = *state;
	reply(p, NOW, json_pack("{s:s, s:s, s:i}", "status", "error", "evalue", "1", "traceback", 5));
	assert_end(p, "{\"id\":7,\"message\":\"1\",\"op\":\"error\",\"traceback\":\"\",\"type\":\"Error\"}|");
	outputs_begin(&p->outputs, 7, NOW);
	p->outputs.interrupted = true;
	reply(p, NOW, json_pack("{s:s}", "status", "aborted"));
	assert_end(
		p,
		"{\"id\":7,\"message\":\"The cell was interrupted.\",\"op\":\"error\",\"traceback\":\"\",\"type\":\"Interrupted\"}|");
}

static void displays_updates_and_clears_keep_their_order(void **state)
{
	struct probe *p = *state;
	display(p, NOW, "first", "d", false);
	print(p, NOW, "text");
	display(p, NOW, "second", "d", true);
	assert_log(
		p,
		"{\"data\":{\"text/plain\":\"first\"},\"display_id\":\"d\",\"id\":7,\"op\":\"display\"}|out:text|"
		"{\"data\":{\"text/plain\":\"second\"},\"display_id\":\"d\",\"id\":7,\"op\":\"display\",\"update\":true}|");
	clear(p, /* wait= */ false);
	clear(p, /* wait= */ true);
	assert_log(p, "{\"clear\":true,\"data\":{},\"id\":7,\"op\":\"display\"}|"
		      "{\"clear\":true,\"data\":{},\"id\":7,\"op\":\"display\",\"wait\":true}|");
	publish(p, "clear_output", BEFORE, json_object()); /* output of an earlier cell no longer exists */
	assert_log(p, "");
}

static void late_text_is_marked(void **state)
{
	struct probe *p = *state;
	print(p, NOW, "mine");
	print(p, BEFORE, "late\n");
	print(p, BEFORE, "late\n");
	print(p, NOW, "mine\n");
	assert_log(
		p,
		"out:mine|out:\n|out:[from an earlier cell]\n|out:late\n|out:late\n|out:[from this cell]\n|out:mine\n|");
	outputs_finish(&p->outputs);
	buf_reset(&p->log);
	print(p, NOW, "between\n"); /* PID 1 shows it at the start of the next cell */
	assert_log(p, "out:between\n|");
}

static void text_without_a_parent_belongs_to_the_running_cell(void **state)
{
	struct probe *p = *state;
	struct message m = message_of("stream", "", json_pack("{s:s, s:s}", "name", "stdout", "text", "x"));
	outputs_published(&p->outputs, &m);
	message_release(&m);
	assert_log(p, "out:x|");
}

static void a_late_display_waits_for_a_cell(void **state)
{
	struct probe *p = *state;
	assert_end(p, "");
	display(p, NOW, "late", NULL, false);
	assert_log(p, "");
	outputs_begin(&p->outputs, 8, "next");
	outputs_finish(&p->outputs);
	assert_log(p, "{\"data\":{\"text/plain\":\"late\"},\"id\":8,\"op\":\"display\"}|{\"id\":8,\"op\":\"done\"}|");
}

static void bundles_are_converted_for_the_link(void **state)
{
	struct probe *p = *state;
	publish(p, "display_data", NOW,
		json_pack("{s:{s:s, s:[s, s], s:s, s:{s:s%}, s:i, s:s, s:b}}", "data", "image/png", "AA\nBB\n",
			  "text/html", "<b>", "</b>", "text/plain", "\x1b[1mbold\x1b[0m", "application/json", "a",
			  "x\0y", (size_t)3, "text/latex", 5, "nonsense", "x", "image/gif", 1));
	assert_end(
		p,
		"{\"data\":{\"application/json\":{\"a\":\"x␀y\"},\"image/png\":\"AABB\",\"text/html\":\"<b></b>\",\"text/latex\":\"5\","
		"\"text/plain\":\"bold\"},\"id\":7,\"op\":\"display\"}|");
	display(p, NOW, "x", "i", false);
	publish(p, "display_data", NOW, json_pack("{s:i}", "data", 1));
	publish(p, "display_data", NOW, json_object());
}

static void buffers_and_metadata_are_carried(void **state)
{
	struct probe *p = *state;
	struct message m =
		message_of("display_data", NOW,
			   json_pack("{s:{s:s}, s:{s:i}}", "data", "text/plain", "x", "metadata", "width", 5));
	struct part buffers[] = { { "\0\xff", 2 }, { "", 0 } };
	m.buffers = buffers;
	m.n_buffers = 2;
	outputs_published(&p->outputs, &m);
	message_release(&m);
	assert_end(
		p,
		"{\"buffers\":[\"AP8=\",\"\"],\"data\":{\"text/plain\":\"x\"},\"id\":7,\"metadata\":{\"width\":5},\"op\":\"display\"}|");
}

static void an_oversized_bundle_loses_its_largest_form(void **state)
{
	struct probe *p = *state;
	AUTO(freep) char *big = xcalloc(SEND_MAX + 1, 1);
	memset(big, 'x', SEND_MAX);
	publish(p, "execute_result", NOW, json_pack("{s:{s:s, s:s}}", "data", "text/plain", "small", "text/html", big));
	display(p, NOW, big, NULL, false);
	outputs_finish(&p->outputs);
	assert_non_null(strstr(buf_str(&p->log), "{\"data\":{\"text/plain\":\"small\"},\"id\":7,\"op\":\"result\"}"));
	assert_non_null(strstr(buf_str(&p->log), "err:husk-jupyter: the display is too large for a session"));
}

static void pages_are_displays(void **state)
{
	struct probe *p = *state;
	reply(p, NOW,
	      json_pack("{s:s, s:[{s:s, s:{s:s}}, {s:s}, i]}", "status", "ok", "payload", "source", "page", "data",
			"text/plain", "help", "source", "ask_exit", 1));
	assert_end(p, "{\"data\":{\"text/plain\":\"help\"},\"id\":7,\"op\":\"display\"}|");
}

static void displayed_values_are_results(void **state)
{
	struct probe *p = *state;
	p->outputs.displays_values = true;
	display(p, NOW, "[1] 1", NULL, false);
	display(p, NOW, "[1] 2", NULL, false);
	assert_log(p, "{\"data\":{\"text/plain\":\"[1] 1\"},\"id\":7,\"op\":\"display\"}|");
	print(p, NOW, "text"); /* the value before was not the result, since another statement follows */
	assert_log(p, "{\"data\":{\"text/plain\":\"[1] 2\"},\"id\":7,\"op\":\"display\"}|out:text|");
	display(p, NOW, "[1] 1", NULL, false);
	display(p, NOW, "[1] 2", NULL, false);
	assert_end(
		p,
		"{\"data\":{\"text/plain\":\"[1] 1\"},\"id\":7,\"op\":\"display\"}|{\"data\":{\"text/plain\":\"[1] 2\"},\"id\":7,\"op\":\"result\"}|");
	outputs_begin(&p->outputs, 7, NOW);
	publish(p, "display_data", NOW, json_pack("{s:{s:s, s:s}}", "data", "text/plain", "plot", "image/png", "AA"));
	assert_end(p, "{\"data\":{\"image/png\":\"AA\",\"text/plain\":\"plot\"},\"id\":7,\"op\":\"display\"}|");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_cell_ends_with_reply_and_idle),
		TEST(text_is_passed_on_at_once),
		TEST(the_last_result_is_the_value),
		TEST(one_error_is_reported),
		TEST(an_error_only_in_the_reply_is_reported),
		TEST(displays_updates_and_clears_keep_their_order),
		TEST(late_text_is_marked),
		TEST(text_without_a_parent_belongs_to_the_running_cell),
		TEST(a_late_display_waits_for_a_cell),
		TEST(bundles_are_converted_for_the_link),
		TEST(buffers_and_metadata_are_carried),
		TEST(an_oversized_bundle_loses_its_largest_form),
		TEST(pages_are_displays),
		TEST(displayed_values_are_results),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
