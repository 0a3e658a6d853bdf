#include "manager/json/notebook.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"

/* The usual kernel of each language. For a runtime that is not listed, the kernel has the runtime's name. */
static const struct kernelspec {
	const char *runtime, *name, *title, *language;
} kernelspecs[] = {
	{ "python", "python3", "Python 3", "python" },
	{ "node", "javascript", "JavaScript (Node.js)", "javascript" },
	{ "r", "ir", "R", "R" },
};

static struct kernelspec kernelspec_of(const char *runtime)
{
	for (size_t i = 0; runtime && i < ARRAY_LEN(kernelspecs); i++)
		if (streq(kernelspecs[i].runtime, runtime))
			return kernelspecs[i];
	runtime = runtime ? runtime : "unknown";
	return (struct kernelspec){ runtime, runtime, runtime, runtime };
}

static json_t *clean(const char *text)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	utf8_clean(&bytes, text, strlen(text));
	return json_stringn(buf_str(&bytes), bytes.len);
}

/* Joins the arrays of all pieces of output. */
static json_t *outputs_of(const struct executed *e)
{
	json_t *all = json_array();
	for (size_t i = 0; i < e->n_outputs; i++) {
		json_auto_t *piece = json_loads(e->outputs[i], 0, NULL);
		if (json_is_array(piece))
			json_array_extend(all, piece);
	}
	return all;
}

static json_t *metadata_of(const struct executed *e)
{
	return json_pack("{s:{s:I, s:s?, s:I}}", "husk", "call", (json_int_t)e->seq, "ending", e->ending, "started_ms",
			 (json_int_t)e->started_ms);
}

static json_t *code_cell(const struct executed *e, json_t *source, json_int_t count)
{
	json_t *outputs = outputs_of(e), *output;
	size_t i;
	json_array_foreach(outputs, i, output)
		if (json_object_get(output, "execution_count"))
			json_object_set_new(output, "execution_count", json_integer(count));
	AUTO(freep) char *id = xasprintf("call-%llu", (unsigned long long)e->seq);
	return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o}", "cell_type", "code", "id", id, "execution_count", count,
			 "metadata", metadata_of(e), "source", source, "outputs", outputs);
}

/* Adds what a command printed, for a notebook whose kernel cannot run commands. */
static void add_streams(struct buf *out, const struct executed *e)
{
	json_auto_t *outputs = outputs_of(e);
	json_t *output;
	size_t i;
	json_array_foreach(outputs, i, output) {
		const char *text = json_string_value(json_object_get(output, "text"));
		if (text)
			buf_add_str(out, text);
	}
}

/* Longer than any run of back quotes in the text. */
static size_t fence_length(const char *text)
{
	size_t longest = 2;
	while ((text = strchr(text, '`'))) {
		size_t n = strspn(text, "`");
		longest = MAX(longest, n);
		text += n;
	}
	return longest + 1;
}

static void add_block(struct buf *out, const char *language, const char *text)
{
	AUTO(freep) char *fence = xcalloc(fence_length(text) + 1, 1);
	memset(fence, '`', fence_length(text));
	buf_printf(out, "%s%s\n%s%s%s\n", fence, language, text, *text && text[strlen(text) - 1] == '\n' ? "" : "\n",
		   fence);
}

static json_t *markdown_cell(const struct executed *e)
{
	AUTO(buf_release) struct buf source = { 0 }, said = { 0 };
	add_block(&source, "sh", e->text);
	add_streams(&said, e);
	if (said.len)
		add_block(&source, "", buf_str(&said));
	AUTO(freep) char *id = xasprintf("call-%llu", (unsigned long long)e->seq);
	return json_pack("{s:s, s:s, s:o, s:o}", "cell_type", "markdown", "id", id, "metadata", metadata_of(e),
			 "source", clean(buf_str(&source)));
}

static json_t *cell_of(const struct executed *e, bool magics, json_int_t *count)
{
	if (!streq(e->tool, "execute_terminal"))
		return code_cell(e, clean(e->text), ++*count);
	if (!magics)
		return markdown_cell(e);
	AUTO(freep) char *source = xasprintf("%%%%bash\n%s", e->text);
	return code_cell(e, clean(source), ++*count);
}

json_t *notebook_of(const struct history *history, const char *session)
{
	struct kernelspec kernel = kernelspec_of(history->runtime);
	json_int_t count = 0;
	json_t *cells = json_array();
	for (size_t i = 0; i < history->n; i++)
		if (history->v[i].text)
			json_array_append_new(cells, cell_of(&history->v[i], streq(kernel.language, "python"), &count));
	if (!json_array_size(cells)) {
		json_decref(cells);
		return NULL;
	}
	return json_pack("{s:i, s:i, s:{s:{s:s, s:s, s:s}, s:{s:s}, s:{s:s, s:b}}, s:o}", "nbformat", 4,
			 "nbformat_minor", 5, "metadata", "kernelspec", "name", kernel.name, "display_name",
			 kernel.title, "language", kernel.language, "language_info", "name", kernel.language, "husk",
			 "session_id", session, "cut", history->cut, "cells", cells);
}
