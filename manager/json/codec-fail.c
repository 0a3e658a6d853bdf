/* Failures. Kinds and causes have names here because the two ends may have different versions. */
#include "manager/json/codec.h"

#include "base/alloc.h"
#include "manager/json/fields.h"

static const char *const kinds[] = {
	[FAIL_INVALID] = "invalid",	[FAIL_NOT_FOUND] = "not_found", [FAIL_FOREIGN] = "foreign",
	[FAIL_LIMIT] = "limit",		[FAIL_BUSY] = "busy",		[FAIL_TIMEOUT] = "timeout",
	[FAIL_CANCELLED] = "cancelled", [FAIL_ENGINE] = "engine",	[FAIL_IMAGE] = "image",
	[FAIL_DIED] = "died",		[FAIL_STORE] = "store",		[FAIL_INSTALL] = "install",
	[FAIL_INTERNAL] = "internal",
};

json_t *fail_encode(const struct fail *f)
{
	json_t *out = json_object();
	bool known = f->kind && (size_t)f->kind < ARRAY_LEN(kinds);
	fields_put_text(out, "kind", known ? kinds[f->kind] : kinds[FAIL_INTERNAL]);
	if (f->cause)
		fields_put_text(out, "cause", cause_name(cause_of(f)));
	fields_put_text(out, "message", f->message);
	fields_put_text(out, "hint", f->hint);
	return out;
}

void fail_decode(const json_t *json, struct fail *f)
{
	struct fields in = { .json = json };
	int kind = fields_choice(&in, "kind", kinds, ARRAY_LEN(kinds));
	const char *message = fields_text(&in, "message"), *hint = fields_text(&in, "hint"),
		   *cause = fields_text(&in, "cause");
	if (!message)
		message = fields_text(&in, "detail");
	cause_set(f, kind ? (enum fail_kind)kind : FAIL_INTERNAL, cause ? cause_find(cause) : CAUSE_NONE, "%s",
		  message ? message : "the server gave no reason");
	if (hint)
		fail_hint(f, "%s", hint);
}
