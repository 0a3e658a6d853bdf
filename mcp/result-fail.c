/* Converts failures to results. Only this file maps kinds of failure to the words of the reference. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "mcp/next-step.h"
#include "mcp/result.h"

static const char *leading_words(enum fail_kind kind)
{
	switch (kind) {
	case FAIL_INVALID:
		return "INVALID_INPUT";
	case FAIL_NOT_FOUND:
		return "ValueError";
	case FAIL_FOREIGN:
		return "PermissionError";
	case FAIL_TIMEOUT:
		return "TimeoutError";
	case FAIL_DIED:
		return "CONTAINER_DIED";
	case FAIL_NONE:
	case FAIL_BUSY:
	case FAIL_LIMIT:
	case FAIL_CANCELLED:
	case FAIL_ENGINE:
	case FAIL_IMAGE:
	case FAIL_STORE:
	case FAIL_INSTALL:
	case FAIL_INTERNAL:
		break;
	}
	return "RuntimeError";
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));
	return s ? s : "?";
}

static void add_seconds(struct buf *b, const json_t *session, const char *key, const char *word)
{
	const json_t *v = json_object_get(session, key);
	if (json_is_integer(v))
		buf_printf(b, ", %lld s %s", (long long)json_integer_value(v), word);
}

static char *fail_text(const char *error, const json_t *active, const char *hint)
{
	struct buf b = { 0 };
	buf_add_str(&b, error);
	for (size_t i = 0; i < json_array_size(active); i++) {
		const json_t *s = json_array_get(active, i);
		const char *name = json_string_value(json_object_get(s, "name"));
		buf_printf(&b, "%s%s (%s%s%s, %s", i ? ", " : "\nActive sessions: ", text_of(s, "session_id"),
			   name ? name : "", name ? ", " : "", text_of(s, "runtime"), text_of(s, "status"));
		add_seconds(&b, s, "age_seconds", "old");
		add_seconds(&b, s, "idle_seconds", "idle");
		buf_add_str(&b, ")");
	}
	if (hint)
		buf_printf(&b, "\nHint: %s", hint);
	return buf_steal_str(&b);
}

static json_t *fail_fields(const struct fail *f, const struct fail_context *ctx, const char *error, const char *hint)
{
	json_t *o = json_pack("{s:b}", "success", 0);
	if (f->kind == FAIL_INVALID) {
		json_object_set_new(o, "error", json_string("INVALID_INPUT"));
		json_object_set_new(o, "details",
				    ctx->details ? json_incref(ctx->details) :
						   json_pack("[{s:s, s:[], s:o}]", "type", "value_error", "loc", "msg",
							     json_shown(f->message ? f->message : "invalid")));
	} else {
		json_object_set_new(o, "error", json_shown(error));
	}
	if (cause_of(f))
		json_object_set_new(o, "cause", json_string(cause_name(cause_of(f))));
	if (ctx->session_id)
		json_object_set_new(o, "session_id", json_name(ctx->session_id));
	json_object_set_new(o, "hint", hint ? json_shown(hint) : json_null());
	if (ctx->active_sessions)
		json_object_set(o, "active_sessions", ctx->active_sessions);
	return o;
}

json_t *result_of_fail(const struct fail *failure, const struct fail_context *ctx)
{
	AUTO(fail_release) struct fail shown = { 0 };
	const struct fail *f = &shown;
	fail_for_client(&shown, failure, ctx->remote);
	AUTO(freep) char *hint = next_step_after_fail(f, json_array_size(ctx->active_sessions) > 0, ctx->remote);
	AUTO(freep) char *error = xasprintf("%s: %s", leading_words(f->kind), f->message ? f->message : "failed");
	/* A list of sessions does not help with a bad argument. */
	AUTO(freep) char *text = fail_text(error, f->kind == FAIL_INVALID ? NULL : ctx->active_sessions, hint);
	json_t *fields = fail_fields(f, ctx, error, hint);
	json_t *result =
		json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text", json_shown(text), "isError", 1);
	if (ctx->fields_in_meta)
		json_object_set_new(result, "_meta", json_pack("{s:O}", RESULT_META, fields));
	if (ctx->structured)
		json_object_set(result, "structuredContent", fields);
	json_decref(fields);
	return result;
}
