/* Terminals: bytes both ways, and notes of how many were processed. */
#include "attach/fields.h"
#include "attach/served-private.h"
#include "base/alloc.h"

#define WORDS_MAX 1024

static void on_bytes(void *ctx, const void *data, size_t n)
{
	served_bytes(ctx, 1, data, n);
}

static void on_written(void *ctx, size_t n)
{
	json_t *note = json_object();
	fields_put_number(note, "written", n);
	served_note(ctx, note);
}

static void on_end(void *ctx, const struct terminal_end *end, const struct fail *f)
{
	struct served *s = ctx;
	s->op = NULL;
	if (f) {
		served_fail(s, f);
		return;
	}
	json_t *out = json_object();
	fields_put_number(out, "exit_code", (uint64_t)end->exit_code);
	fields_put_number(out, "signal", (uint64_t)end->signal);
	fields_put_text(out, "detail", end->detail);
	served_answer(s, out);
}

/* The caller frees *ret. */
static int take_words(const json_t *list, const char ***ret, struct fail *f)
{
	size_t n = json_array_size(list);
	AUTO(freep) const char **words = xcalloc(n + 1, sizeof(*words));
	for (size_t i = 0; i < n; i++) {
		const json_t *word = json_array_get(list, i);
		words[i] = json_string_value(word);
		if (!words[i] || strlen(words[i]) != json_string_length(word))
			return fail_set(f, FAIL_INVALID, "a word of the command is not a string");
	}
	*ret = take_ptr(words);
	return 0;
}

static int start(struct served *s, const json_t *request, struct fail *f)
{
	struct fields in = { .json = request };
	AUTO(freep) const char **words = NULL;
	const json_t *command = fields_list(&in, "command", WORDS_MAX);
	struct terminal_request r = { .session_id = fields_text(&in, "session"),
				      .n_command = json_array_size(command),
				      .term = fields_text(&in, "term"),
				      .cwd = fields_text(&in, "cwd"),
				      .rows = (int)fields_number(&in, "rows", TERMINAL_SIDE_MAX),
				      .cols = (int)fields_number(&in, "cols", TERMINAL_SIDE_MAX),
				      .on_bytes = on_bytes,
				      .on_written = on_written,
				      .on_end = on_end,
				      .ctx = s };
	if (fields_check(&in, f) < 0 || take_words(command, &words, f) < 0)
		return -1;
	if (!r.session_id)
		return fail_set(f, FAIL_INVALID, "a terminal needs a session");
	r.command = words;
	s->op = manager_terminal(s->host->conversation, &r, f);
	return s->op ? 0 : -1;
}

static void on_typed(struct served *s, const void *data, size_t n)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (!s->op || terminal_write(s->op, data, n) == 0)
		return;
	op_cancel(take_ptr(s->op));
	fail_set(&f, FAIL_LIMIT, "too much unacknowledged input");
	served_fail(s, &f);
}

static void on_note(struct served *s, const json_t *note)
{
	struct fields in = { .json = note };
	uint64_t taken = fields_number(&in, "taken", UINT32_MAX);
	int rows = (int)fields_number(&in, "rows", TERMINAL_SIDE_MAX),
	    cols = (int)fields_number(&in, "cols", TERMINAL_SIDE_MAX);
	if (!s->op || in.bad)
		return;
	if (taken)
		terminal_taken(s->op, taken);
	if (rows && cols)
		terminal_resize(s->op, rows, cols);
}

/* Hangs up. */
static void interrupt(struct served *s)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (!s->op)
		return;
	op_cancel(take_ptr(s->op));
	fail_set(&f, FAIL_CANCELLED, "the terminal was hung up");
	served_fail(s, &f);
}

const struct served_type served_terminal = { .name = "terminal",
					     .size = sizeof(struct served),
					     .start = start,
					     .interrupt = interrupt,
					     .on_bytes = on_typed,
					     .on_note = on_note };
