/* Routes that report on a session: its use of resources, and its runs as a notebook. */
#include "api/host.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/json.h"
#include "manager/json/codec.h"
#include "manager/json/notebook.h"

/* As many runs as `husk history --ipynb` shows. */
#define NOTEBOOK_RUNS 10000

/* --- usage --------------------------------------------------------------------------------------------------------- */

static void take(json_t *to, const json_t *from, const char *name)
{
	json_t *value = json_object_get(from, name);
	if (value)
		json_object_set(to, name, value);
}

static void on_details(void *ctx, const struct session_details *details, const struct fail *f)
{
	static const char *const names[] = { "limits", "usage", "age_seconds", "idle_seconds" };
	struct exchange *x = ctx;
	if (!exchange_resume(x, f))
		return;
	json_auto_t *all = session_details_encode(details);
	json_t *out = json_object();
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		take(out, all, names[i]);
	json_t *samples = json_array();
	for (size_t i = 0; details->usage && i < details->usage->n; i++) {
		const struct usage_sample *s = &details->usage->v[i];
		json_array_append_new(samples, json_pack("{s:I, s:I, s:I}", "time_ms", (json_int_t)s->time_ms, "memory",
							 (json_int_t)s->memory, "cpu_us", (json_int_t)s->cpu_us));
	}
	json_object_set_new(out, "samples", samples);
	exchange_reply(x, 200, out);
}

static void get_usage(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct info_request request = { .session_id = x->session, .on_done = on_details, .ctx = x };
	exchange_await(x, manager_info(x->conversation, &request, &f), &f);
}

/* --- notebook ------------------------------------------------------------------------------------------------------ */

static void not_kept(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_NOT_FOUND, "The code of this session was not kept, so there is no notebook.");
	fail_hint(&f, "Set HISTORY_KEEPS_CODE=true for sessions that start from now on.");
	exchange_fail(x, &f);
}

static void on_history(void *ctx, const struct history *history, const struct fail *f)
{
	struct exchange *x = ctx;
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	AUTO(fail_release) struct fail none = { 0 };
	AUTO(buf_release) struct buf text = { 0 };
	if (!exchange_resume(x, f))
		return;
	if (!history->known || !history->conversation || !tenant_owns(x->caller.tenant, history->conversation)) {
		cause_no_session(&none, x->session);
		exchange_fail(x, &none);
		return;
	}
	json_auto_t *notebook = notebook_of(history, history->id);
	if (!notebook) {
		not_kept(x);
		return;
	}
	json_print(&text, notebook);
	http_fields_addf(&fields, "Content-Disposition", "attachment; filename=\"%.26s.ipynb\"", history->id);
	exchange_reply_text(x, 200, &fields, "application/x-ipynb+json", text.data, text.len);
}

static void get_notebook(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct history_request request = {
		.session_id = x->session, .limit = NOTEBOOK_RUNS, .texts = true, .on_done = on_history, .ctx = x
	};
	exchange_await(x, manager_history(x->api->spec.manager, &request, &f), &f);
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

static const struct route_answer usage_answers[] = {
	{ 200, "Usage", NULL, "The present use, the last samples, and the limits." }, { 0 }
};
static const struct route_answer notebook_answers[] = {
	{ 200, NULL, "application/x-ipynb+json", "The notebook (nbformat 4.5)." }, { 0 }
};

const struct route routes_reports[] = {
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/sessions/{session}/usage",
	  .scope = SCOPE_SESSIONS_READ,
	  .flags = ROUTE_SESSION,
	  .name = "getUsage",
	  .tag = "sessions",
	  .summary = "Show the memory, processor time and disks that a session uses, and its limits",
	  .text = "`samples` has the values of the last requests, at least a second apart.",
	  .answers = usage_answers,
	  .example = "",
	  .handle = get_usage },
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/sessions/{session}/notebook.ipynb",
	  .scope = SCOPE_SESSIONS_READ,
	  .flags = ROUTE_SESSION,
	  .name = "getNotebook",
	  .tag = "sessions",
	  .summary = "Get the runs of a session as a notebook, also after its end",
	  .text = "Only if the server keeps the code of runs (`HISTORY_KEEPS_CODE`).",
	  .answers = notebook_answers,
	  .example = "-o session.ipynb",
	  .handle = get_notebook },
	{ 0 },
};
