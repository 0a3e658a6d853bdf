#include "manager/registry/rows.h"

#include "base/alloc.h"
#include "base/work.h"
#include "manager/model/handle.h"
#include "manager/registry/owner.h"

struct judging {
	struct work *work;
	judged_fn fn;
	void *ctx;
	/* Used by the worker job while it runs. */
	struct config config; /* only the fields that identify owners */
	struct rows rows;
};

int rows_resolve(const struct session_list *list, char **word, struct fail *f)
{
	AUTO(freep) struct handle *handles = xcalloc(list->n + 1, sizeof(*handles));
	size_t n = 0, at;
	for (size_t i = 0; i < list->n; i++) {
		const struct session_record *row = &list->v[i];
		if (row->state != ROW_WARM || streq(row->id, *word))
			handles[n++] = (struct handle){ row->id, row->name, row->state != ROW_ENDED };
	}
	if (handle_find(handles, n, *word, &at, f) < 0)
		return -1;
	free(*word);
	*word = xstrdup(handles[at].id);
	return 0;
}

static const char *keep(struct rows *rows, const char *text)
{
	if (!text)
		return NULL;
	strv_add(&rows->strings, text);
	return rows->strings.v[rows->strings.n - 1];
}

static void copy_row(struct rows *rows, const struct session_record *from)
{
	struct session_record *to = &rows->v[rows->n++];
	*to = *from;
	to->id = keep(rows, from->id);
	to->thread = keep(rows, from->thread);
	to->runtime = keep(rows, from->runtime);
	to->container = keep(rows, from->container);
	to->mark = keep(rows, from->mark);
	to->name = keep(rows, from->name);
	to->sealed = NULL;
	to->image = keep(rows, from->image);
	to->owner = keep(rows, from->owner);
	to->owner_host = keep(rows, from->owner_host);
	to->cause = keep(rows, from->cause);
	to->limits = keep(rows, from->limits);
	to->transport = keep(rows, from->transport);
}

static void rows_release(struct rows *rows)
{
	free(rows->v);
	free(rows->owner_dead);
	strv_release(&rows->strings);
	*rows = (struct rows){ 0 };
}

static void judging_free(struct judging *j)
{
	rows_release(&j->rows);
	free(j->config.state_dir);
	free(j);
}

static void judge(void *ctx)
{
	struct judging *j = ctx;
	uint64_t now = store_now_ms();
	for (size_t i = 0; i < j->rows.n; i++) {
		struct owner_claim claim = owner_claim_of(&j->rows.v[i]);
		j->rows.owner_dead[i] = j->rows.v[i].state != ROW_ENDED && owner_is_dead(&j->config, &claim, now);
	}
}

static void on_judged(void *ctx, bool forgotten)
{
	struct judging *j = ctx;
	if (!forgotten)
		j->fn(j->ctx, &j->rows);
	judging_free(j);
}

struct judging *rows_judge(struct loop *loop, const struct config *config, const struct session_list *list,
			   judged_fn fn, void *ctx)
{
	struct judging *j = new0(struct judging);
	j->fn = fn;
	j->ctx = ctx;
	j->config.state_dir = xstrdup(config->state_dir);
	j->config.lease = config->lease;
	j->rows.v = xcalloc(list->n + 1, sizeof(*j->rows.v));
	j->rows.owner_dead = xcalloc(list->n + 1, sizeof(*j->rows.owner_dead));
	for (size_t i = 0; i < list->n; i++)
		copy_row(&j->rows, &list->v[i]);
	j->work = work_start(loop, &(struct work_spec){ .fn = judge, .on_done = on_judged, .ctx = j });
	return j;
}

struct judging *judging_cancel(struct judging *j)
{
	if (j)
		work_forget(j->work);
	return NULL;
}
