/* Queries to an interpreter, and its answers. */
#include "manager/json/codec.h"

#include "base/alloc.h"
#include "manager/json/fields.h"

#define MATCHES_MAX 10000
#define POSITION_MAX QUERY_TEXT_MAX

static const char *const kinds[QUERY_KINDS] = {
	[QUERY_COMPLETE] = "complete", [QUERY_INSPECT] = "inspect", [QUERY_IS_COMPLETE] = "is_complete"
};

json_t *query_answer_encode(const struct query_answer *a)
{
	json_t *out = json_object(), *matches = json_array();
	fields_put_text(out, "kind", kinds[a->kind]);
	for (size_t i = 0; i < a->n_matches; i++)
		json_array_append_new(matches, json_string(a->matches[i]));
	json_object_set_new(out, "matches", matches);
	fields_put_bool(out, "more", a->more);
	fields_put_number(out, "start", a->start);
	fields_put_number(out, "end", a->end);
	fields_put_bool(out, "found", a->found);
	fields_put_text(out, "text", a->text);
	fields_put_text(out, "html", a->html);
	fields_put_text(out, "completeness", completeness_name(a->completeness));
	fields_put_text(out, "indent", a->indent);
	return out;
}

int query_answer_decode(const json_t *json, struct query_answer *ret, struct fail *f)
{
	struct fields in = { .json = json };
	const json_t *matches = fields_list(&in, "matches", MATCHES_MAX);
	*ret = (struct query_answer){ .kind = (enum query_kind)fields_choice(&in, "kind", kinds, ARRAY_LEN(kinds)),
				      .more = fields_bool(&in, "more"),
				      .start = (size_t)fields_number(&in, "start", POSITION_MAX),
				      .end = (size_t)fields_number(&in, "end", POSITION_MAX),
				      .found = fields_bool(&in, "found"),
				      .text = fields_copy(&in, "text"),
				      .html = fields_copy(&in, "html"),
				      .completeness = completeness_find(fields_text(&in, "completeness")),
				      .indent = fields_copy_or_empty(&in, "indent") };
	ret->matches = xcalloc(json_array_size(matches) + 1, sizeof(*ret->matches));
	for (size_t i = 0; i < json_array_size(matches); i++) {
		const char *match = json_string_value(json_array_get(matches, i));
		if (!match)
			return fail_set(f, FAIL_INVALID, "a match is not a string");
		ret->matches[ret->n_matches++] = xstrdup(match);
	}
	if (fields_check(&in, f) < 0)
		return -1;
	if (ret->start > ret->end || (ret->found && !ret->text))
		return fail_set(f, FAIL_INVALID, "the answer is inconsistent");
	return 0;
}
