#include "manager/registry/rows.h"

#include "base/alloc.h"
#include "base/work.h"
#include "manager/model/handle.h"
#include "manager/registry/owner.h"

struct rows_load {
	struct rows_spec spec;
	struct store_job *job; /* first the rows are read, */
	struct work *work;     /* then their owners are judged */
	/* Used by the worker job while it runs. */
	struct config config; /* only the fields that identify owners */
	struct rows rows;
};

int rows_resolve(const struct rows *rows, char **word, struct fail *f)
{
	AUTO(freep) struct handle *handles = xcalloc(rows->n + 1, sizeof(*handles));
	size_t n = 0, at;
	for (size_t i = 0; i < rows->n; i++) {
		const struct session_record *row = &rows->v[i];
		if (row->state != ROW_WARM || streq(row->id, *word))
			handles[n++] = (struct handle){ row->id, row->name, row->state != ROW_ENDED };
	}
	if (handle_find(handles, n, *word, &at, f) < 0)
		return -1;
	free(*word);
	*word = xstrdup(handles[at].id);
	return 0;
}

bool rows_on_engine(const struct session_record *row, const struct engine *engine)
{
	return streq(row->engine, engine->ops->name);
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
	to->labels = keep(rows, from->labels);
	to->sealed = NULL;
	to->image = keep(rows, from->image);
	to->owner = keep(rows, from->owner);
	to->owner_host = keep(rows, from->owner_host);
	to->cause = keep(rows, from->cause);
	to->limits = keep(rows, from->limits);
	to->transport = keep(rows, from->transport);
	to->engine = keep(rows, from->engine);
}

static void rows_release(struct rows *rows)
{
	free(rows->v);
	free(rows->owner_dead);
	strv_release(&rows->strings);
	*rows = (struct rows){ 0 };
}

static void rows_load_free(struct rows_load *l)
{
	rows_release(&l->rows);
	free(l->config.state_dir);
	free(l);
}

static void judge(void *ctx)
{
	struct rows_load *l = ctx;
	uint64_t now = store_now_ms();
	for (size_t i = 0; i < l->rows.n; i++) {
		struct owner_claim claim = owner_claim_of(&l->rows.v[i]);
		l->rows.owner_dead[i] = l->rows.v[i].state != ROW_ENDED && owner_is_dead(&l->config, &claim, now);
	}
}

static void on_judged(void *ctx, bool forgotten)
{
	struct rows_load *l = ctx;
	if (!forgotten)
		l->spec.fn(l->spec.ctx, &l->rows, NULL);
	rows_load_free(l);
}

static void on_list(void *ctx, const struct session_list *list, const struct fail *f)
{
	struct rows_load *l = ctx;
	l->job = NULL;
	if (f) {
		l->spec.fn(l->spec.ctx, NULL, f);
		rows_load_free(l);
		return;
	}
	l->rows.v = xcalloc(list->n + 1, sizeof(*l->rows.v));
	l->rows.owner_dead = xcalloc(list->n + 1, sizeof(*l->rows.owner_dead));
	for (size_t i = 0; i < list->n; i++)
		copy_row(&l->rows, &list->v[i]);
	l->work = work_start(l->spec.loop, &(struct work_spec){ .fn = judge, .on_done = on_judged, .ctx = l });
}

static void on_row(void *ctx, const struct session_record *row, const struct fail *f)
{
	on_list(ctx, &(struct session_list){ row, row ? 1 : 0 }, f);
}

struct rows_load *rows_load(const struct rows_spec *spec)
{
	struct rows_load *l = new0(struct rows_load);
	l->spec = *spec;
	l->spec.id = l->spec.conversation = NULL;
	l->config.state_dir = xstrdup(spec->config->state_dir);
	l->config.lease = spec->config->lease;
	if (spec->id)
		l->job = store_session_get(spec->store, spec->id, on_row, l);
	else
		l->job = store_sessions(spec->store, spec->conversation, /* all= */ true, on_list, l);
	return l;
}

struct rows_load *rows_load_cancel(struct rows_load *l)
{
	if (l && l->work) {
		work_forget(l->work);
	} else if (l) {
		store_cancel(l->job);
		rows_load_free(l);
	}
	return NULL;
}
