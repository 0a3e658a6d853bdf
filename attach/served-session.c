/* Sessions: status, list, create, stop. */
#include "attach/codec.h"
#include "attach/fields.h"
#include "attach/served-private.h"
#include "base/alloc.h"

static const char *session_of(const json_t *request, struct fail *f)
{
	struct fields in = { .json = request };
	const char *id = fields_text(&in, "session");
	if (!id)
		fail_set(f, FAIL_INVALID, "the request names no session");
	return id;
}

/* --- info ---------------------------------------------------------------------------------------------------------- */

static void on_details(void *ctx, const struct session_details *details, const struct fail *f)
{
	struct served *s = ctx;
	s->op = NULL;
	if (f)
		served_fail(s, f);
	else
		served_answer(s, session_details_encode(details));
}

static int start_info(struct served *s, const json_t *request, struct fail *f)
{
	struct fields in = { .json = request };
	struct info_request r = { .session_id = session_of(request, f),
				  .keep_alive = fields_bool(&in, "keep_alive"),
				  .on_done = on_details,
				  .ctx = s };
	if (!r.session_id || fields_check(&in, f) < 0)
		return -1;
	s->op = manager_info(s->host->conversation, &r, f);
	return s->op ? 0 : -1;
}

const struct served_type served_info = { .name = "info", .size = sizeof(struct served), .start = start_info };

/* --- list ---------------------------------------------------------------------------------------------------------- */

static void add_session(void *ctx, const struct session_info *info)
{
	json_array_append_new(ctx, session_info_encode(info));
}

static int start_list(struct served *s, const json_t *request UNUSED, struct fail *f UNUSED)
{
	json_t *list = json_array();
	conversation_each_session(s->host->conversation, add_session, list);
	served_answer(s, list);
	return 0;
}

const struct served_type served_list = { .name = "list", .size = sizeof(struct served), .start = start_list };

/* --- create -------------------------------------------------------------------------------------------------------- */

static void on_install_output(void *ctx, const char *text, size_t n)
{
	served_bytes(ctx, 1, text, n);
}

/* If a limit was reached, the answer has both a failure and the list of active sessions. */
static void on_created(void *ctx, const struct create_result *result, const struct fail *f)
{
	struct served *s = ctx;
	json_t *out = json_object();
	s->op = NULL;
	if (f)
		json_object_set_new(out, "fail", fail_encode(f));
	if (result && result->session)
		json_object_set_new(out, "session", session_info_encode(result->session));
	if (result && result->n_active)
		json_object_set_new(out, "active", sessions_encode(result->active, result->n_active));
	fields_put_text(out, "note", result ? result->note : NULL);
	served_answer(s, out);
}

static int start_create(struct served *s, const json_t *request, struct fail *f)
{
	AUTO(create_parts_release) struct create_parts parts = { 0 };
	struct create_request r;
	if (create_request_decode(request, &r, &parts, f) < 0)
		return -1;
	r.on_output = json_is_true(json_object_get(request, "live")) ? on_install_output : NULL;
	r.on_done = on_created;
	r.ctx = s;
	s->op = manager_create(s->host->conversation, &r, f);
	return s->op ? 0 : -1;
}

const struct served_type served_create = { .name = "create", .size = sizeof(struct served), .start = start_create };

/* --- stop ---------------------------------------------------------------------------------------------------------- */

static void on_stopped(void *ctx, const struct fail *f)
{
	struct served *s = ctx;
	s->op = NULL;
	if (f)
		served_fail(s, f);
	else
		served_answer(s, json_object());
}

static int start_stop(struct served *s, const json_t *request, struct fail *f)
{
	struct stop_request r = { .session_id = session_of(request, f), .on_done = on_stopped, .ctx = s };
	if (!r.session_id)
		return -1;
	s->op = manager_stop(s->host->conversation, &r, f);
	return s->op ? 0 : -1;
}

const struct served_type served_stop = { .name = "stop", .size = sizeof(struct served), .start = start_stop };
