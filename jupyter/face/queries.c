#include "jupyter/face/queries.h"

#include "base/alloc.h"
#include "base/json.h"

/* Limit on the queries of all clients together. Further ones are answered as if the interpreter were busy. */
#define QUERIES_MAX 16

struct query {
	struct list node;
	struct queries *queries;
	struct request *request;
	enum query_kind kind;
};

struct queries {
	struct queries_spec spec;
	struct attach *attach; /* NULL = no connection at present */
	char *session;
	struct list waiting;
};

struct queries *queries_new(const struct queries_spec *spec)
{
	struct queries *a = new0(struct queries);
	a->spec = *spec;
	list_init(&a->waiting);
	return a;
}

static void query_free(struct query *query)
{
	list_remove(&query->node);
	request_free(query->request);
	free(query);
}

struct queries *queries_free(struct queries *a)
{
	if (!a)
		return NULL;
	for (struct query *query; (query = list_first(&a->waiting, struct query, node));)
		query_free(query);
	free(a->session);
	free(a);
	return NULL;
}

void queries_attach(struct queries *a, struct attach *attach, const char *session_id)
{
	free(a->session);
	a->session = session_id ? xstrdup(session_id) : NULL;
	a->attach = attach;
}

/* --- answers ----------------------------------------------------------------------------------------------------- */

static json_int_t cursor_of(const struct request *r)
{
	return json_integer_value(json_object_get(r->content, "cursor_pos"));
}

static json_t *matches_of(const struct request *r, const struct query_answer *answer)
{
	json_t *matches = json_array();
	json_int_t start = answer ? (json_int_t)answer->start : cursor_of(r);
	json_int_t end = answer ? (json_int_t)answer->end : cursor_of(r);
	for (size_t i = 0; answer && i < answer->n_matches; i++)
		json_array_append_new(matches, json_text(answer->matches[i]));
	return json_pack("{s:s, s:o, s:I, s:I, s:{}}", "status", "ok", "matches", matches, "cursor_start", start,
			 "cursor_end", end, "metadata");
}

static json_t *help_of(const struct query_answer *answer)
{
	json_t *data = json_object();
	if (answer && answer->text)
		json_object_set_new(data, "text/plain", json_text(answer->text));
	if (answer && answer->html)
		json_object_set_new(data, "text/html", json_text(answer->html));
	return json_pack("{s:s, s:b, s:o, s:{}}", "status", "ok", "found", answer && answer->found, "data", data,
			 "metadata");
}

static json_t *wholeness_of(const struct query_answer *answer)
{
	enum completeness c = answer ? answer->completeness : CODE_UNKNOWN;
	json_t *reply = json_pack("{s:s}", "status", completeness_name(c));
	if (c == CODE_INCOMPLETE)
		json_object_set_new(reply, "indent", json_text(answer->indent));
	return reply;
}

/* answer NULL: the interpreter did not answer. */
static void reply(struct queries *a, struct request *r, enum query_kind kind, const struct query_answer *answer)
{
	static const char *const types[QUERY_KINDS] = { [QUERY_COMPLETE] = "complete_reply",
							[QUERY_INSPECT] = "inspect_reply",
							[QUERY_IS_COMPLETE] = "is_complete_reply" };
	json_t *content = kind == QUERY_COMPLETE ? matches_of(r, answer) :
			  kind == QUERY_INSPECT	 ? help_of(answer) :
						   wholeness_of(answer);
	request_reply(r, a->spec.channels, types[kind], content);
	a->spec.on_answered(a->spec.ctx, r);
}

/* --- queries ----------------------------------------------------------------------------------------------------- */

static void on_done(void *ctx, const struct query_answer *answer, const struct fail *f UNUSED)
{
	struct query *query = ctx;
	reply(query->queries, take_ptr(query->request), query->kind, answer);
	query_free(query);
}

static enum query_kind kind_of(const struct request *r)
{
	const char *type = json_string_value(json_object_get(r->header, "msg_type"));
	return streq(type, "complete_request") ? QUERY_COMPLETE :
	       streq(type, "inspect_request")  ? QUERY_INSPECT :
						 QUERY_IS_COMPLETE;
}

void queries_add(struct queries *a, struct request *r)
{
	AUTO(fail_release) struct fail ignored = { 0 };
	enum query_kind kind = kind_of(r);
	const char *code = request_string(r, "code");
	json_int_t cursor = cursor_of(r);
	if (!a->attach || list_length(&a->waiting) >= QUERIES_MAX) {
		reply(a, r, kind, NULL);
		return;
	}
	struct query *query = new0(struct query);
	*query = (struct query){ .queries = a, .request = r, .kind = kind };
	list_append(&a->waiting, &query->node);
	const struct query_request request = {
		.kind = kind,
		.session_id = a->session,
		.code = code,
		.len = strlen(code),
		.cursor = cursor > 0 ? (size_t)cursor : 0,
		.detail = json_integer_value(json_object_get(r->content, "detail_level")) > 0,
		.on_done = on_done,
		.ctx = query,
	};
	if (!attach_query(a->attach, &request, &ignored))
		on_done(query, NULL, &ignored);
}
