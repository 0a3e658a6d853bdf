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

static json_t *runs_encode(const uint64_t *runs, size_t n)
{
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_integer((json_int_t)runs[i]));
	return list;
}

static size_t runs_decode(struct fields *in, const char *name, uint64_t *ret)
{
	const json_t *list = fields_list(in, name, CHECKPOINT_RUNS_MAX);
	for (size_t i = 0; i < json_array_size(list); i++)
		ret[i] = (uint64_t)MAX(json_integer_value(json_array_get(list, i)), 0);
	return json_array_size(list);
}

json_t *restored_encode(const struct restored *r)
{
	json_t *out = json_object();
	json_object_set_new(out, "run", json_integer((json_int_t)r->run));
	fields_put_text(out, "name", r->name);
	json_object_set_new(out, "missing", runs_encode(r->missing, r->n_missing));
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
	r->n_missing = runs_decode(ret_in, "missing", r->missing);
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
	fields_put_text(out, "state", c->state);
	if (c->state)
		json_object_set_new(out, "runs", runs_encode(c->runs, c->n_runs));
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
	put_texts(out, "dropped", &a->dropped);
	json_object_set_new(out, "checkpoints", checkpoints_encode(a->checkpoints, a->n_checkpoints));
	json_object_set_new(out, "branches", checkpoints_encode(a->branches, a->n_branches));
	return out;
}

int checkpoint_request_decode(struct checkpoint_request *ret, const char *action, const char *name, struct fail *f)
{
	ret->action = checkpoint_action_find(action);
	if (ret->action == CHECKPOINT_ACTIONS) {
		fail_set(f, FAIL_INVALID, "the action is not known");
		return fail_hint(f, "It is \"save\", \"undo\", \"branch\", \"keep\" or \"drop\".");
	}
	if ((ret->action != CHECKPOINT_UNDO && ret->action != CHECKPOINT_DROP) || parse_u64(name, &ret->run) < 0)
		ret->name = name;
	return 0;
}

static int info_decode(const json_t *json, struct checkpoint_info *ret, struct fail *f)
{
	struct fields in = { .json = json };
	*ret = (struct checkpoint_info){ .name = fields_copy(&in, "name"),
					 .run = fields_number(&in, "run", UINT32_MAX),
					 .age_ms = fields_number(&in, "age_ms", INT64_MAX),
					 .bytes = fields_number(&in, "bytes", INT64_MAX),
					 .state = fields_copy(&in, "state") };
	ret->n_runs = runs_decode(&in, "runs", ret->runs);
	read_texts(&in, "lost", &ret->lost);
	return fields_check(&in, f);
}

int checkpoint_answer_decode(const json_t *json, struct checkpoint_answer *ret, struct fail *f)
{
	struct fields in = { .json = json }, restored = { 0 };
	*ret = (struct checkpoint_answer){ .note = fields_copy(&in, "note") };
	const json_t *saved = fields_object(&in, "saved");
	const json_t *list = fields_list(&in, "checkpoints", CHECKPOINTS_LISTED_MAX),
		     *branches = fields_list(&in, "branches", CHECKPOINTS_LISTED_MAX);
	read_texts(&in, "dropped", &ret->dropped);
	ret->restored = restored_decode(fields_object(&in, "restored"), &restored);
	ret->saved = saved ? new0(struct checkpoint_info) : NULL;
	ret->checkpoints = xcalloc(json_array_size(list) + 1, sizeof(*ret->checkpoints));
	ret->branches = xcalloc(json_array_size(branches) + 1, sizeof(*ret->branches));
	if (fields_check(&in, f) < 0 || (ret->restored && fields_check(&restored, f) < 0))
		return -1;
	if (saved && info_decode(saved, ret->saved, f) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(list); i++)
		if (info_decode(json_array_get(list, i), &ret->checkpoints[ret->n_checkpoints++], f) < 0)
			return -1;
	for (size_t i = 0; i < json_array_size(branches); i++)
		if (info_decode(json_array_get(branches, i), &ret->branches[ret->n_branches++], f) < 0)
			return -1;
	return 0;
}
