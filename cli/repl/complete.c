#include "cli/repl/complete.h"

#include <sys/ioctl.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "cli/repl/matches.h"

/* A later answer is useless: the user has continued typing. */
#define ANSWER_MS 3000
#define TEXT_MAX (64u << 10)
#define ROWS_MAX 20

struct complete {
	struct prompt *prompt;
	struct timer *deadline;
	struct attach *attach;
	char *session;
	struct attach_call *call;
	char *line; /* at the time of the query */
	size_t cursor;
	size_t before;	 /* characters of the cell in lines above */
	struct buf text; /* output of a command */
};

/* --- using the matches --------------------------------------------------------------------------------------------- */

static size_t terminal_width(void)
{
	struct winsize size;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

/* The matches replace the line from `begin` to the cursor. */
static void apply(struct complete *c, size_t begin, const struct strv *matches)
{
	size_t cursor = 0;
	AUTO(freep) char *now = prompt_line(c->prompt, &cursor);
	if (!matches->n || cursor != c->cursor || !streq(now, c->line))
		return;
	AUTO(freep) char *common = matches_common(matches);
	size_t typed = cursor - begin;
	bool longer = strlen(common) > typed || strncmp(common, now + begin, typed) != 0;
	if (longer && *common) {
		prompt_change(c->prompt, utf8_count(now + begin, typed), common);
	} else if (matches->n > 1) {
		AUTO(freep) char *list = matches_columns(matches, terminal_width(), ROWS_MAX);
		prompt_show(c->prompt, list);
	}
}

void complete_drop(struct complete *c)
{
	timer_stop(c->deadline);
	if (c->call)
		attach_cancel(take_ptr(c->call));
	free(take_ptr(c->line));
	free(take_ptr(c->session));
	buf_reset(&c->text);
}

static void on_deadline(void *ctx)
{
	complete_drop(ctx);
}

/* --- files --------------------------------------------------------------------------------------------------------- */

static void on_output(void *ctx, int stream, const char *text, size_t n)
{
	struct complete *c = ctx;
	if (stream == 1)
		buf_add(&c->text, text, n);
}

static void on_listed(void *ctx, const struct run_result *result, const struct fail *f UNUSED)
{
	struct complete *c = ctx;
	AUTO(strv_release) struct strv matches = { 0 };
	c->call = NULL;
	if (result && result->ending == ENDING_OK) {
		const char *text = buf_str(&c->text);
		for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
			AUTO(freep) char *name = xstrndup(text, (size_t)(end - text));
			strv_add(&matches, name);
		}
		apply(c, matches_file_begin(c->line, c->cursor), &matches);
	}
	complete_drop(c);
}

static void query_files(struct complete *c)
{
	AUTO(fail_release) struct fail f = { 0 };
	size_t begin = matches_file_begin(c->line, c->cursor);
	AUTO(freep) char *command = matches_file_command(c->line + begin, c->cursor - begin);
	struct run_request request = { .kind = RUN_TERMINAL,
				       .session_id = c->session,
				       .text = command,
				       .len = strlen(command),
				       .by = "husk repl",
				       .timeout_seconds = ANSWER_MS / 1000,
				       .on_output = on_output,
				       .on_done = on_listed,
				       .ctx = c };
	c->call = attach_run(c->attach, &request, &f);
	if (!c->call)
		complete_drop(c);
}

/* --- names --------------------------------------------------------------------------------------------------------- */

/* True if the cursor is in a string. */
static bool may_be_file(const struct complete *c)
{
	size_t begin = matches_file_begin(c->line, c->cursor);
	return begin && strchr("\"'`", c->line[begin - 1]);
}

static void on_matches(void *ctx, const struct query_answer *answer, const struct fail *f UNUSED)
{
	struct complete *c = ctx;
	AUTO(strv_release) struct strv matches = { 0 };
	c->call = NULL;
	if ((!answer || !answer->n_matches) && may_be_file(c)) {
		query_files(c);
		return;
	}
	size_t typed = utf8_count(c->line, c->cursor);
	bool here = answer && answer->start >= c->before && answer->start - c->before <= typed;
	for (size_t i = 0; here && i < answer->n_matches; i++)
		strv_add(&matches, answer->matches[i]);
	if (here)
		apply(c, utf8_head(c->line, c->cursor, answer->start - c->before), &matches);
	complete_drop(c);
}

static void query_names(struct complete *c, const char *before)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *code = xasprintf("%s%s", before, c->line);
	c->before = utf8_count(before, strlen(before));
	struct query_request request = { .kind = QUERY_COMPLETE,
					 .session_id = c->session,
					 .code = code,
					 .len = strlen(code),
					 .cursor = c->before + utf8_count(c->line, c->cursor),
					 .on_done = on_matches,
					 .ctx = c };
	c->call = attach_query(c->attach, &request, &f);
	if (!c->call)
		complete_drop(c);
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

void complete_query(struct complete *c, struct attach *attach, const char *session, const char *before,
		    const char *line, size_t cursor)
{
	complete_drop(c);
	c->attach = attach;
	c->session = xstrdup(session);
	c->line = xstrdup(line);
	c->cursor = cursor;
	timer_start(c->deadline, ANSWER_MS, 0);
	if (strncmp(line, "$ ", 2) == 0)
		query_files(c);
	else
		query_names(c, before);
}

struct complete *complete_new(struct loop *loop, struct prompt *prompt)
{
	struct complete *c = xcalloc(1, sizeof(*c));
	*c = (struct complete){ .prompt = prompt, .text = { .max = TEXT_MAX } };
	c->deadline = timer_new(loop, on_deadline, c);
	return c;
}

struct complete *complete_free(struct complete *c)
{
	if (!c)
		return NULL;
	complete_drop(c);
	timer_free(c->deadline);
	buf_release(&c->text);
	free(c);
	return NULL;
}
