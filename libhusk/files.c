/* Files: import, export, and exports with their content. */
#include "base/alloc.h"
#include "libhusk/call.h"
#include "libhusk/take.h"

#define FILES_MAX 10000
#define EXPORTS_DEFAULT 100
#define CONTENT_DEFAULT (64u << 20)

struct copy_call {
	struct call call;
	struct husk_copy options;
	struct copy_request request;
	const char *session;
	struct husk_files *files;
};

static void on_progress(void *ctx, const char *line)
{
	struct copy_call *c = ctx;
	call_text(&c->call, 1, line, strlen(line));
}

static void pass_progress(struct call *call, int stream UNUSED, const char *text, size_t n UNUSED)
{
	const struct husk_copy *options = &container_of(call, struct copy_call, call)->options;
	options->on_progress(options->ctx, text);
}

static void on_copied(void *ctx, const struct copy_result *results, size_t n, const struct fail *f)
{
	struct copy_call *c = ctx;
	if (!f)
		c->files = take_copies(results, n, c->request.exports ? c->session : NULL);
	call_finish(&c->call, f);
}

static struct op *start_copy(struct call *call, struct fail *f)
{
	return manager_copy(call->conversation->conversation, &container_of(call, struct copy_call, call)->request, f);
}

static struct husk_error *copy(const char *function, struct husk_conversation *conversation,
			       const struct copy_request *request, const struct husk_copy *options,
			       const struct husk_wait *wait, struct husk_files **ret)
{
	struct copy_call c = { .call.start = start_copy, .request = *request, .session = request->session_id };
	struct husk_error *error = HANDLE_TAKE(function, struct husk_copy, options, &c.options);
	if (error)
		return error;
	c.call.on_text = c.options.on_progress ? pass_progress : NULL;
	c.request.on_progress = c.options.on_progress ? on_progress : NULL;
	c.request.on_done = on_copied;
	c.request.ctx = &c;
	error = call_perform(&c.call, &(struct call_target){ function, NULL, conversation, wait });
	if (!error)
		*ret = c.files;
	else
		husk_files_free(c.files);
	return error;
}

static struct husk_error *check(const char *function, const char *session, const void *list, size_t n,
				struct husk_files **ret)
{
	if (!ret)
		return error_missing(function, "ret");
	if (!session)
		return error_missing(function, "the session's id");
	if (!list || !n)
		return error_missing(function, "what to copy");
	if (n > FILES_MAX)
		return error_misuse("%s(): more than %d entries", function, FILES_MAX);
	return NULL;
}

static struct husk_error *take_item(const struct husk_import *from, size_t i, struct import_item *to)
{
	static const char function[] = "husk_import";
	struct husk_import item = { 0 };
	if (!from)
		return error_misuse("%s(): entry %zu is missing", function, i);
	struct husk_error *error = HANDLE_TAKE(function, struct husk_import, from, &item);
	if (error)
		return error;
	if (!item.content && item.n)
		return error_misuse("%s(): entry %zu has a length and no content", function, i);
	if ((item.content != NULL) + (item.source != NULL) + (item.session || item.path || item.variable) != 1)
		return error_misuse("%s(): entry %zu needs one of content, source, or session and path", function, i);
	if ((item.session != NULL) != (item.path || item.variable) || (item.path && item.variable))
		return error_misuse("%s(): entry %zu needs session and path, or session and variable", function, i);
	*to = (struct import_item){ .content = item.content,
				    .content_len = item.n,
				    .source = item.source,
				    .own = item.source != NULL,
				    .session_id = item.session,
				    .path = item.path,
				    .variable = item.variable,
				    .destination = item.destination };
	return NULL;
}

struct husk_error *husk_import(struct husk_conversation *c, const char *session, const struct husk_import *const *items,
			       size_t n, const struct husk_copy *options, const struct husk_wait *wait,
			       struct husk_files **ret)
{
	struct husk_error *error = check("husk_import", session, items, n, ret);
	if (error)
		return error;
	AUTO(freep) struct import_item *taken = xcalloc(n, sizeof(*taken));
	for (size_t i = 0; i < n; i++)
		if ((error = take_item(items[i], i, &taken[i])))
			return error;
	return copy("husk_import", c, &(struct copy_request){ .session_id = session, .imports = taken, .n = n },
		    options, wait, ret);
}

struct husk_error *husk_export(struct husk_conversation *c, const char *session, const char *const *paths, size_t n,
			       const struct husk_copy *options, const struct husk_wait *wait, struct husk_files **ret)
{
	struct husk_error *error = check("husk_export", session, paths, n, ret);
	if (error)
		return error;
	for (size_t i = 0; i < n; i++)
		if (!paths[i] || !*paths[i])
			return error_misuse("husk_export(): entry %zu is missing", i);
	return copy("husk_export", c, &(struct copy_request){ .session_id = session, .exports = paths, .n = n },
		    options, wait, ret);
}

/* --- exports ------------------------------------------------------------------------------------------------------- */

struct exports_call {
	struct call call;
	size_t limit;
	struct husk_files *files;
};

static void on_exports(void *ctx, const struct export_info *v, size_t n, const struct fail *f)
{
	struct exports_call *c = ctx;
	if (!f)
		c->files = take_exports(v, n);
	call_finish(&c->call, f);
}

static struct op *start_exports(struct call *call, struct fail *f)
{
	struct exports_call *c = container_of(call, struct exports_call, call);
	return manager_exports(call->conversation->conversation,
			       &(struct exports_request){ .limit = c->limit, .on_done = on_exports, .ctx = c }, f);
}

struct husk_error *husk_exports(struct husk_conversation *conversation, size_t limit, const struct husk_wait *wait,
				struct husk_files **ret)
{
	if (!ret)
		return error_missing("husk_exports", "ret");
	struct exports_call c = { .call.start = start_exports, .limit = limit ? limit : EXPORTS_DEFAULT };
	struct husk_error *error =
		call_perform(&c.call, &(struct call_target){ "husk_exports", NULL, conversation, wait });
	if (!error)
		*ret = c.files;
	else
		husk_files_free(c.files);
	return error;
}

/* --- content of an export ------------------------------------------------------------------------------------------ */

struct owned_content {
	struct husk_content content;
	uint8_t data[];
};

struct read_call {
	struct call call;
	const char *id;
	size_t max;
	struct owned_content *content;
};

static void on_read(void *ctx, const struct export_info *info, const uint8_t *data, size_t n, const struct fail *f)
{
	struct read_call *c = ctx;
	AUTO(fail_release) struct fail why = { 0 };
	if (!f && !info)
		cause_set(&why, FAIL_NOT_FOUND, CAUSE_NOT_EXPORTED, "there is no export '%.64s' in this conversation",
			  c->id);
	else if (!f && !data)
		fail_set(&why, FAIL_LIMIT, "export '%.64s' has %llu bytes; the limit is %zu", c->id,
			 (unsigned long long)info->stored, c->max);
	if (!f && !why.kind) {
		c->content = xmalloc(sizeof(*c->content) + n + 1);
		c->content->content = (struct husk_content){ .data = c->content->data, .n = n };
		memcpy(c->content->data, data, n);
	}
	call_finish(&c->call, f ? f : why.kind ? &why : NULL);
}

static struct op *start_read(struct call *call, struct fail *f)
{
	struct read_call *c = container_of(call, struct read_call, call);
	return manager_read_export(call->conversation->conversation,
				   &(struct read_request){ .id = c->id, .max = c->max, .on_done = on_read, .ctx = c },
				   f);
}

struct husk_error *husk_read_export(struct husk_conversation *conversation, const char *id, size_t max,
				    const struct husk_wait *wait, struct husk_content **ret)
{
	if (!ret)
		return error_missing("husk_read_export", "ret");
	if (!id)
		return error_missing("husk_read_export", "the export's id");
	struct read_call c = { .call.start = start_read, .id = id, .max = max ? max : CONTENT_DEFAULT };
	struct husk_error *error =
		call_perform(&c.call, &(struct call_target){ "husk_read_export", NULL, conversation, wait });
	if (!error)
		*ret = &c.content->content;
	else
		free(c.content);
	return error;
}

void husk_content_free(struct husk_content *content)
{
	if (content)
		free(container_of(content, struct owned_content, content));
}
