#include "kernels/cells/checkpoint-story.h"

#include "base/alloc.h"
#include "kernels/cells/changes.h"
#include "kernels/guard/spawn.h"
#include "kernels/system/clock.h"

/* Runs that are named one by one. */
#define RUNS_NAMED_MAX 10
#define RUNS_LISTED_MAX 100

json_t *checkpoint_describe(const struct checkpoint *c)
{
	json_t *o = json_pack("{s:s*, s:I, s:I, s:I}", "name", c->name, "run", (json_int_t)history_last(&c->history),
			      "age_ms", (json_int_t)(clock_now_ms() - c->made_ms), "bytes", (json_int_t)c->bytes);
	if (json_array_size(c->lost))
		json_object_set(o, "lost", c->lost);
	return o;
}

/* "13", "13 and 14", "13, 14 and 15", "13, 14, … and 8 more". */
static void put_numbers(struct buf *text, const json_t *numbers)
{
	size_t n = json_array_size(numbers), named = MIN(n, (size_t)RUNS_NAMED_MAX);
	for (size_t i = 0; i < named; i++)
		buf_printf(text, "%s%lld",
			   i == 0     ? "" :
			   i + 1 == n ? " and " :
					", ",
			   (long long)json_integer_value(json_array_get(numbers, i)));
	if (n > named)
		buf_printf(text, " and %zu more", n - named);
}

static void put_texts(struct buf *text, const json_t *texts, const char *between)
{
	size_t i;
	json_t *one;
	json_array_foreach(texts, i, one)
		buf_printf(text, "%s%s", i ? between : "", json_string_value(one));
}

static char *tell(const char *branch, uint32_t run, const json_t *missing, const json_t *lost, const json_t *files,
		  bool more)
{
	struct buf text = { 0 };
	if (branch)
		buf_printf(&text, "Variables are those of the branch '%s'", branch);
	else if (run)
		buf_printf(&text, "Variables are as they were after run %u", run);
	else
		buf_add_str(&text, "Variables are as they were before the first run");
	if (json_array_size(missing)) {
		buf_add_str(&text, json_array_size(missing) > 1 ? "; runs " : "; run ");
		put_numbers(&text, missing);
		buf_add_str(&text, json_array_size(missing) > 1 ? " are not in them" : " is not in them");
	}
	buf_add_str(&text, ".");
	if (json_array_size(lost)) {
		buf_add_str(&text, " Not restored: ");
		put_texts(&text, lost, "; ");
		buf_add_str(&text, ".");
	}
	if (json_array_size(files)) {
		buf_add_str(&text, " Files are not restored: these in " SPAWN_WORKSPACE " have changed since then: ");
		put_texts(&text, files, ", ");
		buf_add_str(&text, more ? ", and others." : ".");
	}
	return buf_steal_str(&text);
}

/* The runs of `now` that are not in `h`. */
static json_t *missing_in(const struct history *h, const struct history *now)
{
	json_t *missing = json_array();
	for (size_t i = 0; i < now->n && json_array_size(missing) < RUNS_LISTED_MAX; i++)
		if (!history_has(h, now->runs[i]))
			json_array_append_new(missing, json_integer(now->runs[i]));
	return missing;
}

json_t *checkpoint_compare(const struct checkpoint *c, const struct history *now, char **ret_note)
{
	uint32_t run = history_last(&c->history);
	bool more = false;
	json_t *missing = missing_in(&c->history, now), *files = changes_since(SPAWN_WORKSPACE, &c->made_at, &more);
	*ret_note = tell(NULL, run, missing, c->lost, files, more);
	json_t *o = json_pack("{s:I, s:s*, s:o}", "run", (json_int_t)run, "name", c->name, "missing", missing);
	if (json_array_size(c->lost))
		json_object_set(o, "lost", c->lost);
	if (json_array_size(files))
		json_object_set(o, "files", files);
	if (more)
		json_object_set_new(o, "more_files", json_true());
	json_decref(files);
	return o;
}

json_t *branch_compare(const char *name, const struct history *branch, const struct history *now, json_t *lacks,
		       char **ret_note)
{
	uint32_t run = history_last(branch);
	json_t *missing = missing_in(branch, now);
	*ret_note = tell(name, run, missing, lacks, NULL, false);
	json_t *o = json_pack("{s:I, s:s, s:o}", "run", (json_int_t)run, "name", name, "missing", missing);
	if (json_array_size(lacks))
		json_object_set(o, "lost", lacks);
	return o;
}
