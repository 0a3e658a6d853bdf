/* kernels/jupyter/prompt: prompts of a cell and their answers. */
#include "kernels/jupyter/prompt.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

/* All events in order, one per line. */
struct probe {
	struct prompt asking;
	struct buf log;
};

static void on_send_up(struct prompt *a, json_t *message)
{
	struct probe *p = container_of(a, struct probe, asking);
	AUTO(freep) char *text = json_dumps(message, JSON_COMPACT | JSON_SORT_KEYS);
	buf_printf(&p->log, "up %s|", text);
}

static void on_reply(struct prompt *a, const json_t *to, const char *text, size_t n)
{
	struct probe *p = container_of(a, struct probe, asking);
	buf_printf(&p->log, "%s: %.*s|", json_string_value(json_object_get(to, "msg_id")), (int)n, text);
}

static void on_interrupt(struct prompt *a)
{
	struct probe *p = container_of(a, struct probe, asking);
	buf_printf(&p->log, "interrupt|");
}

static void on_note(struct prompt *a, const char *text)
{
	struct probe *p = container_of(a, struct probe, asking);
	buf_printf(&p->log, "note|");
}

static int set_up(void **state)
{
	struct probe *p = new0(struct probe);
	p->asking =
		(struct prompt){ .send_up = on_send_up, .reply = on_reply, .interrupt = on_interrupt, .note = on_note };
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct probe *p = *state;
	prompt_release(&p->asking);
	buf_release(&p->log);
	free(p);
	return 0;
}

static void request(struct probe *p, const char *id, const char *type, json_t *prompt)
{
	struct message m = {
		.header = json_pack("{s:s}", "msg_id", id),
		.content = json_pack("{s:o, s:b}", "prompt", prompt, "password", streq(id, "secret")),
		.type = type,
	};
	prompt_request(&p->asking, &m);
	json_decref(m.header);
	json_decref(m.content);
}

static void answer(struct probe *p, int question, const char *text)
{
	json_auto_t *message = json_pack("{s:i, s:s}", "question", question, "text", text);
	prompt_answer(&p->asking, message);
}

static void assert_log(struct probe *p, const char *expected)
{
	assert_string_equal(buf_str(&p->log), expected);
	buf_reset(&p->log);
}

static void a_prompt_of_a_cell_without_input_is_refused(void **state)
{
	struct probe *p = *state;
	prompt_begin(&p->asking, /* interactive= */ false);
	request(p, "a", "input_request", json_string("?"));
	request(p, "b", "input_request", json_string("?"));
	request(p, "b", "comm_open", json_string("?"));
	assert_log(p, "note|a: \x04|b: \x04|");
	request(p, "c", "input_request", json_string("?"));
	assert_log(p, "interrupt|c: \x04|");
	answer(p, 0, "x");
	assert_log(p, "");
}

static void an_interactive_cell_is_answered(void **state)
{
	struct probe *p = *state;
	prompt_begin(&p->asking, /* interactive= */ true);
	request(p, "a", "input_request", json_string("Name? "));
	assert_log(p, "up {\"op\":\"input\",\"password\":false,\"prompt\":\"Name? \",\"question\":1}|");
	answer(p, 7, "not asked for");
	assert_log(p, "");
	answer(p, 1, "Bob\n");
	answer(p, 1, "again");
	assert_log(p, "a: Bob|");
	request(p, "secret", "input_request", json_integer(5));
	assert_log(p, "up {\"op\":\"input\",\"password\":true,\"prompt\":\"\",\"question\":2}|");
	answer(p, 2, "");
	assert_log(p, "secret: |");
}

static void later_prompts_get_the_remaining_lines(void **state)
{
	struct probe *p = *state;
	prompt_begin(&p->asking, /* interactive= */ true);
	request(p, "a", "input_request", json_string(""));
	buf_reset(&p->log);
	answer(p, 1, "one\ntwo\nthree\x04");
	request(p, "b", "input_request", json_string(""));
	request(p, "c", "input_request", json_string(""));
	request(p, "d", "input_request", json_string(""));
	assert_log(p, "a: one|b: two|c: three|d: \x04|");
	request(p, "e", "input_request", json_string(""));
	buf_reset(&p->log);
	prompt_begin(&p->asking, /* interactive= */ true); /* answers for another cell are dropped */
	answer(p, 2, "late");
	assert_log(p, "");
}

static void an_interrupt_withdraws_the_prompt(void **state)
{
	struct probe *p = *state;
	prompt_begin(&p->asking, /* interactive= */ true);
	request(p, "a", "input_request", json_string(""));
	buf_reset(&p->log);
	prompt_cancel(&p->asking);
	prompt_cancel(&p->asking);
	answer(p, 1, "late");
	assert_log(p, "up {\"cancel\":true,\"op\":\"input\",\"question\":1}|");
	request(p, "b", "input_request", json_string(""));
	buf_reset(&p->log);
	answer(p, 2, "\x03");
	assert_log(p, "interrupt|");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_prompt_of_a_cell_without_input_is_refused),
		TEST(an_interactive_cell_is_answered),
		TEST(later_prompts_get_the_remaining_lines),
		TEST(an_interrupt_withdraws_the_prompt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
