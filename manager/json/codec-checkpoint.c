/* Checkpoints of an interpreter, and what a restored session lacks. */
#include "manager/json/codec.h"

#include "base/alloc.h"
#include "base/parse.h"
#include "manager/json/fields.h"

static void put_texts(json_t *out, const char *name, const struct strv *texts)
{
	json_t *list = texts->n ? json_array() : NULL;
	for (size_t i = 0; i < texts->n; i++)
		json_array_append_new(list, json_string(texts->v[i]));
	if (list)
		json_object_set_new(out, name, list);
}

static void read_texts(struct fields *in, const char *name, struct strv *ret)
{
	const json_t *list = fields_list(in, name, CHECKPOINT_TEXTS_MAX);
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_is_string(json_array_get(list, i)))
			strv_add(ret, json_string_value(json_array_get(list, i)));
}

json_t *restored_encode(const struct restored *r)
{
	json_t *out = json_object(), *missing = json_array();
	json_object_set_new(out, "run", json_integer((json_int_t)r->run));
	fields_put_text(out, "name", r->name);
	for (size_t i = 0; i < r->n_missing; i++)
		json_array_append_new(missing, json_integer((json_int_t)r->missing[i]));
	json_object_set_new(out, "missing", missing);
	put_texts(out, "lost", &r->lost);
	put_texts(out, "files", &r->files);
	fields_put_bool(out, "more_files", r->more_files);
	return out;
}

struct restored *restored_decode(const json_t *json, struct fields *ret_in)
{
	if (!json)
		return NULL;
	struct restored *r = new0(struct restored);
	*ret_in = (struct fields){ .json = json };
	r->run = fields_number(ret_in, "run", UINT32_MAX);
	r->name = fields_copy(ret_in, "name");
	const json_t *missing = fields_list(ret_in, "missing", CHECKPOINT_RUNS_MAX);
	for (size_t i = 0; i < json_array_size(missing); i++)
		r->missing[r->n_missing++] = (uint64_t)MAX(json_integer_value(json_array_get(missing, i)), 0);
	read_texts(ret_in, "lost", &r->lost);
	read_texts(ret_in, "files", &r->files);
	r->more_files = fields_bool(ret_in, "more_files");
	return r;
}

static json_t *info_encode(const struct checkpoint_info *c)
{
	json_t *out = json_object();
	fields_put_text(out, "name", c->name);
	json_object_set_new(out, "run", json_integer((json_int_t)c->run));
	json_object_set_new(out, "age_ms", json_integer((json_int_t)c->age_ms));
	json_object_set_new(out, "bytes", json_integer((json_int_t)c->bytes));
	put_texts(out, "lost", &c->lost);
	return out;
}

json_t *checkpoints_encode(const struct checkpoint_info *v, size_t n)
{
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, info_encode(&v[i]));
	return list;
}

json_t *checkpoint_answer_encode(const struct checkpoint_answer *a)
{
	json_t *out = json_object();
	if (a->saved)
		json_object_set_new(out, "saved", info_encode(a->saved));
	if (a->restored)
		json_object_set_new(out, "restored", restored_encode(a->restored));
	fields_put_text(out, "note", a->note);
	json_object_set_new(out, "checkpoints", checkpoints_encode(a->checkpoints, a->n_checkpoints));
	return out;
}

int checkpoint_request_decode(struct checkpoint_request *ret, const char *action, const char *name, struct fail *f)
{
	ret->action = checkpoint_action_find(action);
	if (ret->action == CHECKPOINT_ACTIONS) {
		fail_set(f, FAIL_INVALID, "the action is not known");
		return fail_hint(f, "It is \"save\", \"undo\" or \"drop\".");
	}
	if (ret->action == CHECKPOINT_SAVE || parse_u64(name, &ret->run) < 0)
		ret->name = name;
	return 0;
}

static int info_decode(const json_t *json, struct checkpoint_info *ret, struct fail *f)
{
	struct fields in = { .json = json };
	*ret = (struct checkpoint_info){ .name = fields_copy(&in, "name"),
					 .run = fields_number(&in, "run", UINT32_MAX),
					 .age_ms = fields_number(&in, "age_ms", INT64_MAX),
					 .bytes = fields_number(&in, "bytes", INT64_MAX) };
	read_texts(&in, "lost", &ret->lost);
	return fields_check(&in, f);
}

int checkpoint_answer_decode(const json_t *json, struct checkpoint_answer *ret, struct fail *f)
{
	struct fields in = { .json = json }, restored = { 0 };
	*ret = (struct checkpoint_answer){ .note = fields_copy(&in, "note") };
	const json_t *saved = fields_object(&in, "saved");
	const json_t *list = fields_list(&in, "checkpoints", CHECKPOINTS_LISTED_MAX);
	ret->restored = restored_decode(fields_object(&in, "restored"), &restored);
	ret->saved = saved ? new0(struct checkpoint_info) : NULL;
	ret->checkpoints = xcalloc(json_array_size(list) + 1, sizeof(*ret->checkpoints));
	if (fields_check(&in, f) < 0 || (ret->restored && fields_check(&restored, f) < 0))
		return -1;
	if (saved && info_decode(saved, ret->saved, f) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(list); i++)
		if (info_decode(json_array_get(list, i), &ret->checkpoints[ret->n_checkpoints++], f) < 0)
			return -1;
	return 0;
}
