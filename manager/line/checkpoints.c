#include "manager/line/checkpoints.h"

#include <jansson.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "kernels/checkpoint-name.h"
#include "manager/model/cause.h"

#define TEXT_CHARS 300
#define NOTE_CHARS 3000

/* NULL if it is not a text. */
static char *text_of(const json_t *value, size_t max)
{
	struct buf clean = { 0 };
	const char *s = json_string_value(value);
	if (!s)
		return NULL;
	utf8_clean(&clean, s, utf8_head(s, json_string_length(value), max));
	clean.len = utf8_head(buf_str(&clean), clean.len, max);
	return buf_steal_str(&clean);
}

static uint64_t count_of(const json_t *object, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(object, name));
	return n > 0 ? (uint64_t)n : 0;
}

static void read_texts(struct strv *to, const json_t *list)
{
	for (size_t i = 0; i < MIN(json_array_size(list), (size_t)CHECKPOINT_TEXTS_MAX); i++) {
		AUTO(freep) char *text = text_of(json_array_get(list, i), TEXT_CHARS);
		if (text)
			strv_add(to, text);
	}
}

/* A name that PID 1 would not have accepted is not shown. */
static char *name_of(const json_t *object)
{
	const char *name = json_string_value(json_object_get(object, "name"));
	return name && checkpoint_name_valid(name) ? xstrdup(name) : NULL;
}

static size_t read_runs(uint64_t *to, const json_t *list)
{
	size_t n = 0;
	for (size_t i = 0; i < MIN(json_array_size(list), (size_t)CHECKPOINT_RUNS_MAX); i++)
		if (json_integer_value(json_array_get(list, i)) > 0)
			to[n++] = (uint64_t)json_integer_value(json_array_get(list, i));
	return n;
}

static void read_one(struct checkpoint_info *ret, const json_t *said)
{
	const char *state = json_string_value(json_object_get(said, "state"));
	*ret = (struct checkpoint_info){
		.name = name_of(said),
		.state = state ? xstrdup(streq(state, "busy") || streq(state, "starting") ? state : "ready") : NULL,
		.run = count_of(said, "run"),
		.age_ms = count_of(said, "age_ms"),
		.bytes = count_of(said, "bytes")
	};
	ret->n_runs = read_runs(ret->runs, json_object_get(said, "runs"));
	read_texts(&ret->lost, json_object_get(said, "lost"));
}

struct checkpoint_info *checkpoints_read_list(const json_t *list, size_t *ret_n)
{
	*ret_n = MIN(json_array_size(list), (size_t)CHECKPOINTS_LISTED_MAX);
	if (!json_is_array(list))
		return NULL;
	struct checkpoint_info *v = xcalloc(*ret_n + 1, sizeof(*v));
	for (size_t i = 0; i < *ret_n; i++)
		read_one(&v[i], json_array_get(list, i));
	return v;
}

struct restored *checkpoints_read_restored(const json_t *said)
{
	if (!json_is_object(said))
		return NULL;
	struct restored *r = new0(struct restored);
	r->run = count_of(said, "run");
	r->name = name_of(said);
	r->n_missing = read_runs(r->missing, json_object_get(said, "missing"));
	read_texts(&r->lost, json_object_get(said, "lost"));
	read_texts(&r->files, json_object_get(said, "files"));
	r->more_files = json_is_true(json_object_get(said, "more_files"));
	return r;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static int check(const struct dispatch *d, const struct checkpoint_wish *wish, struct fail *f)
{
	bool branches = wish->action == CHECKPOINT_BRANCH || wish->action == CHECKPOINT_KEEP;
	if (wish->name && wish->action != CHECKPOINT_BRANCH && !checkpoint_name_valid(wish->name)) {
		fail_set(f, FAIL_INVALID, "the name of the %s is not valid", branches ? "branch" : "checkpoint");
		return fail_hint(f, CHECKPOINT_NAME_RULE);
	}
	if ((wish->action == CHECKPOINT_SAVE || branches) && !wish->name)
		return fail_set(f, FAIL_INVALID, "a %s needs a name", branches ? "branch" : "checkpoint");
	if (!d->open || (branches ? d->has_branches : d->has_checkpoints))
		return 0; /* query_send_frame() checks the rest */
	cause_set(f, FAIL_INVALID, CAUSE_OLD_SESSION,
		  "this session was created by an older Husk, which does not support %s",
		  branches ? "branches" : "checkpoints");
	return fail_hint(f, "Rebuild the images, then create a new session.");
}

/* PID 1 refuses the tenth name and all that follow. */
#define NAMES_MAX 10

/* Names between commas or blanks. */
static json_t *split(const char *names)
{
	static const char between[] = ", \t\n";
	json_t *list = json_array();
	for (const char *p = names + strspn(names, between); *p && json_array_size(list) < NAMES_MAX;
	     p += strspn(p, between)) {
		size_t n = strcspn(p, between);
		json_array_append_new(list, json_stringn(p, MIN(n, (size_t)BRANCH_NAME_MAX + 1)));
		p += n;
	}
	return list;
}

int checkpoints_start(struct query_waiter *a, struct dispatch *d, const struct checkpoint_wish *wish, struct fail *f)
{
	if (check(d, wish, f) < 0)
		return -1;
	bool several = wish->action == CHECKPOINT_BRANCH;
	json_auto_t *request = json_pack("{s:s, s:s*}", "action", checkpoint_action_name(wish->action), "name",
					 several ? NULL : wish->name);
	if (several)
		json_object_set_new(request, "names", split(wish->name));
	if (!wish->name)
		json_object_set_new(request, "run", json_integer((json_int_t)MIN(wish->run, UINT32_MAX)));
	return query_start_json(a, d, FRAME_CHECKPOINT, request, f);
}

/* "There are a (after run 3) and one after run 5." */
static void hint_list(struct fail *f, const struct checkpoint_answer *a)
{
	AUTO(buf_release) struct buf text = { 0 };
	if (!a->n_checkpoints && !a->n_branches) {
		fail_hint(f, "There are no checkpoints.");
		return;
	}
	buf_add_str(&text, a->n_checkpoints ? "There are these:" : "There are no checkpoints");
	for (size_t i = 0; i < a->n_checkpoints; i++) {
		const struct checkpoint_info *c = &a->checkpoints[i];
		if (c->name)
			buf_printf(&text, "%s '%s' (after run %llu)", i ? "," : "", c->name,
				   (unsigned long long)c->run);
		else
			buf_printf(&text, "%s run %llu", i ? "," : "", (unsigned long long)c->run);
	}
	for (size_t i = 0; i < a->n_branches; i++)
		buf_printf(&text, "%s '%s'", i ? "," : "; branches:", a->branches[i].name ? a->branches[i].name : "");
	buf_add_str(&text, ".");
	fail_hint(f, "%s", buf_str(&text));
}

static int read_status(const json_t *said, const struct checkpoint_answer *a, struct fail *f)
{
	const char *status = json_string_value(json_object_get(said, "status"));
	AUTO(freep) char *why = text_of(json_object_get(said, "why"), TEXT_CHARS);
	if (status && streq(status, "ok"))
		return 0;
	if (status && streq(status, "busy")) {
		cause_set(f, FAIL_BUSY, CAUSE_INTERPRETER_BUSY, "the interpreter is busy");
		return fail_hint(f, "%s%sTry again when its cells have ended.", why ? why : "", why ? " " : "");
	}
	if (status && streq(status, "cannot")) {
		cause_set(f, FAIL_INVALID, CAUSE_CANNOT_ANSWER, "this session cannot have checkpoints: %s",
			  why ? why : "its interpreter does not support them.");
		return fail_hint(f, "Save what was slow to make in a file, and read it after a crash or a mistake.");
	}
	fail_set(f, status && streq(status, "none") ? FAIL_NOT_FOUND : FAIL_INVALID, "%s",
		 why ? why : "the session's answer cannot be used");
	hint_list(f, a);
	return -1;
}

int checkpoints_read(const json_t *said, struct checkpoint_answer *ret, struct fail *f)
{
	*ret = (struct checkpoint_answer){ 0 };
	ret->checkpoints = checkpoints_read_list(json_object_get(said, "checkpoints"), &ret->n_checkpoints);
	ret->branches = checkpoints_read_list(json_object_get(said, "branches"), &ret->n_branches);
	if (read_status(said, ret, f) < 0)
		return -1;
	ret->restored = checkpoints_read_restored(json_object_get(said, "restored"));
	ret->note = text_of(json_object_get(said, "note"), NOTE_CHARS);
	read_texts(&ret->dropped, json_object_get(said, "dropped"));
	if (json_object_get(said, "name")) {
		ret->saved = new0(struct checkpoint_info);
		read_one(ret->saved, said);
	}
	return 0;
}
