#include "kernels/jupyter/prompt.h"

#include "kernels/jupyter/bundle.h"

#define END_OF_INPUT '\x04' /* Ctrl-D; ipykernel and similar kernels treat it as such in an input_reply */
#define INTERRUPT '\x03'    /* Ctrl-C */
/* A cell that keeps asking, although there is no input, is interrupted. */
#define REFUSALS_MAX 3
#define PROMPT_BYTES_MAX 4096

void prompt_release(struct prompt *a)
{
	json_decref(take_ptr(a->open));
	buf_release(&a->typed);
	a->ended = false;
}

void prompt_begin(struct prompt *a, bool interactive)
{
	prompt_release(a);
	a->interactive = interactive;
	a->refusals = 0;
}

static void reply_end(struct prompt *a, const json_t *to)
{
	const char end = END_OF_INPUT;
	a->reply(a, to, &end, 1);
}

static void refuse(struct prompt *a, const json_t *request)
{
	if (a->refusals++ == 0)
		a->note(a, "stdin is closed: the cell asked for input, and nobody can answer. Run it with "
			   "interactive=true to answer");
	if (a->refusals >= REFUSALS_MAX)
		a->interrupt(a);
	reply_end(a, request);
}

/* Answers with the next typed line. False if there is none. */
static bool reply_typed(struct prompt *a, const json_t *request)
{
	if (!a->typed.len) {
		if (a->ended)
			reply_end(a, request);
		bool ended = a->ended;
		a->ended = false;
		return ended;
	}
	const char *line = (const char *)a->typed.data, *newline = memchr(line, '\n', a->typed.len);
	size_t n = newline ? (size_t)(newline - line) : a->typed.len;
	a->reply(a, request, line, n);
	buf_consume(&a->typed, newline ? n + 1 : n);
	return true;
}

static void send_prompt(struct prompt *a, const struct message *m)
{
	json_auto_t *prompt = bundle_text(json_object_get(m->content, "prompt"));
	if (json_string_length(prompt) > PROMPT_BYTES_MAX)
		json_string_set(prompt, "(a prompt that is too long)");
	json_decref(a->open);
	a->open = json_incref(m->header);
	json_auto_t *message = json_pack("{s:s, s:I, s:O, s:b}", "op", "input", "question", ++a->number, "prompt",
					 prompt, "password", json_is_true(json_object_get(m->content, "password")));
	a->send_up(a, message);
}

void prompt_request(struct prompt *a, const struct message *m)
{
	if (!streq(m->type, "input_request"))
		return;
	if (!a->interactive)
		refuse(a, m->header);
	else if (!reply_typed(a, m->header))
		send_prompt(a, m);
}

void prompt_answer(struct prompt *a, const json_t *message)
{
	const json_t *text = json_object_get(message, "text");
	const char *typed = json_string_value(text);
	size_t n = json_string_length(text);
	if (!a->open || !typed || json_integer_value(json_object_get(message, "question")) != a->number)
		return;
	json_auto_t *request = take_ptr(a->open);
	if (memchr(typed, INTERRUPT, n)) {
		a->interrupt(a);
		return;
	}
	const char *end = memchr(typed, END_OF_INPUT, n);
	size_t length = end ? (size_t)(end - typed) : n;
	a->ended = end;
	(void)buf_add(&a->typed, typed, length);
	/* Enter alone is an empty line; the end of input alone is not a line. */
	if (!end && (!length || typed[length - 1] != '\n'))
		(void)buf_add_str(&a->typed, "\n");
	(void)reply_typed(a, request);
}

void prompt_cancel(struct prompt *a)
{
	json_auto_t *request = take_ptr(a->open);
	if (!request)
		return;
	json_auto_t *message = json_pack("{s:s, s:I, s:b}", "op", "input", "question", a->number, "cancel", 1);
	a->send_up(a, message);
}
