#include "manager/registry/adoption.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/utf8.h"
#include "manager/model/cause.h"
#include "manager/registry/claims.h"
#include "manager/registry/rows.h"
#include "manager/registry/session-entry.h"
#include "manager/registry/task.h"

/* Maximum number of sessions that one scan takes over, newest first. Each needs an attempt to attach. */
#define ADOPTIONS_MAX 32
struct adoptions {
	struct registry *registry;
	struct list searches; /* of struct search */
	struct list scans;    /* of struct scan */
};

/* A search for one session, and its take-over. */
struct search {
	struct list node;
	struct conversation *conversation;
	struct conversation_wait wait;
	struct rows_load *load;
	struct store_job *job;
	char id[TOKEN_SIZE]; /* or a name or the beginning of an id */
	bool retried;
	/* From the row that is to be taken over. */
	char *owner;
	uint64_t epoch;
	/* The stored tasks of that session. */
	struct task_record *tasks;
	size_t n_tasks;
	struct strv texts; /* owns the strings of tasks */
};

/* A search for all sessions of a conversation. */
struct scan {
	struct list node;
	struct conversation *conversation;
	struct conversation_wait wait;
	struct rows_load *load;
};

static struct registry *registry_of(const struct search *s)
{
	return s->conversation->registry;
}

static void forget_tasks(struct search *s)
{
	free(take_ptr(s->tasks));
	s->n_tasks = 0;
	strv_release(&s->texts);
}

static void search_free(struct search *s)
{
	list_remove(&s->node);
	list_remove(&s->wait.node);
	rows_load_cancel(s->load);
	store_cancel(s->job);
	free(s->owner);
	forget_tasks(s);
	free(s);
}

/* Exactly one of entry and f is set. */
static void conclude(struct search *s, struct session_entry *entry, const struct fail *f)
{
	struct conversation *c = s->conversation;
	char id[TOKEN_SIZE];
	memcpy(id, s->id, sizeof(id));
	search_free(s);
	ops_found(c->registry, c, id, entry, f);
	ops_adopted(c->registry);
}

static struct search *find(const struct conversation *c, const char *id)
{
	list_for_each(s, &c->registry->adoptions->searches, struct search, node)
		if (s->conversation == c && streq(s->id, id))
			return s;
	return NULL;
}

static struct search *search_new(struct conversation *c, const char *id)
{
	struct search *s = new0(struct search);
	s->conversation = c;
	snprintf(s->id, sizeof(s->id), "%s", id);
	list_init(&s->wait.node);
	list_append(&c->registry->adoptions->searches, &s->node);
	return s;
}

/* --- the owner of a session --------------------------------------------------------------------------------------- */

/* A session that was still starting ends with its server: its id was never delivered, and its container is already
 * being removed. */
static void end_half_made(struct registry *r, const struct session_record *row)
{
	claim_end_row(r->store, row, "its server ended while it started");
}

static int owned_elsewhere(struct fail *f, const struct session_record *row)
{
	struct owner_claim claim = owner_claim_of(row);
	AUTO(freep) char *owner = owner_words(&claim);
	cause_set(f, FAIL_BUSY, CAUSE_OTHER_SERVER,
		  "Session '%s' is in use by another server of this conversation (%s)", row->id, owner);
	return fail_hint(f, "Create another session, or end the client that uses this one, then use it here.");
}

static int on_other_engine(struct fail *f, const struct registry *r, const struct session_record *row)
{
	AUTO(buf_release) struct buf engine = { 0 };
	utf8_clean_name(&engine, row->engine);
	cause_set(f, FAIL_BUSY, CAUSE_OTHER_ENGINE,
		  "Session '%s' runs on the engine '%.40s', and this server uses '%s' (CONTAINER_ENGINE)", row->id,
		  buf_str(&engine), r->engine->ops->name);
	return fail_hint(f, "Use it through a server with that engine, or create another session.");
}

/* 0 if the session can be taken over; else -1 with f. */
static int judge(const struct search *s, const struct session_record *row, bool owner_dead, struct fail *f)
{
	struct registry *r = registry_of(s);
	if (row->state == ROW_WARM)
		return cause_no_session(f, s->id);
	if (conversation_check(s->conversation, row->thread, s->id, f) < 0)
		return -1;
	if (row->state == ROW_ENDED && !row->cause)
		return cause_no_session(f, s->id);
	if (row->state == ROW_ENDED)
		return claim_explain(row, f);
	if (row->seal == SEAL_BROKEN)
		return claim_changed_row(row, f);
	if (!owner_dead)
		return owned_elsewhere(f, row);
	if (!rows_on_engine(row, r->engine))
		return on_other_engine(f, r, row);
	if (row->state == ROW_STARTING)
		end_half_made(r, row);
	else if (runtime_find(row->runtime))
		return 0;
	return cause_no_session(f, s->id);
}

/* --- taking over ------------------------------------------------------------------------------------------------- */

static void load_row(struct search *s);

static void on_taken(void *ctx, const struct session_record *row, const struct fail *f)
{
	struct search *s = ctx;
	s->job = NULL;
	/* The row may have been changed since it was judged. */
	if (row && row->seal == SEAL_BROKEN) {
		AUTO(fail_release) struct fail changed = { 0 };
		claim_changed_row(row, &changed);
		conclude(s, NULL, &changed);
		return;
	}
	if (row) {
		log_debug("session %s: taken over with epoch %llu", row->id, (unsigned long long)row->epoch);
		struct session_entry *entry = session_entry_adopt(registry_of(s), row);
		tasks_adopt(entry, s->conversation, &(struct task_list){ s->tasks, s->n_tasks });
		conclude(s, entry, NULL);
		return;
	}
	if (f || s->retried) {
		AUTO(fail_release) struct fail busy = { 0 };
		if (!f)
			cause_set(&busy, FAIL_BUSY, CAUSE_OTHER_SERVER,
				  "Session '%s' was taken over by another server at the same time", s->id);
		conclude(s, NULL, f ? f : &busy);
		return;
	}
	/* Another server was faster: read the row again to see which server. */
	s->retried = true;
	load_row(s);
}

static void on_prepared(void *ctx, const char *id UNUSED)
{
	struct search *s = ctx;
	struct registry *r = registry_of(s);
	s->job = store_session_take_over(r->store,
					 &(struct take_over){
						 .id = s->id,
						 .old_owner = s->owner,
						 .old_epoch = s->epoch,
						 .new_owner = r->self.id,
						 .new_owner_host = r->self.place,
						 .new_owner_pid = r->self.pid,
						 .lease_until = store_now_ms() + r->config->lease * 1000,
					 },
					 on_taken, s);
}

/* Other servers must be able to see that this one is alive before it owns a session. */
static void prepare(struct search *s)
{
	if (conversation_is_prepared(s->conversation)) {
		on_prepared(s, s->conversation->id);
		return;
	}
	s->wait.make = true;
	s->wait.fn = on_prepared;
	s->wait.ctx = s;
	conversation_prepare(s->conversation, &s->wait);
}

static const char *keep(struct search *s, const char *text)
{
	strv_add(&s->texts, text ? text : "");
	return s->texts.v[s->texts.n - 1];
}

/* Tasks are read before the take-over. Otherwise the results of other runs could report runs that are tasks. */
static void on_tasks(void *ctx, const struct task_list *list, const struct fail *f)
{
	struct search *s = ctx;
	s->job = NULL;
	if (f) {
		conclude(s, NULL, f);
		return;
	}
	forget_tasks(s);
	s->tasks = xcalloc(list->n + 1, sizeof(*s->tasks));
	for (; s->n_tasks < list->n; s->n_tasks++) {
		struct task_record *t = &s->tasks[s->n_tasks];
		*t = list->v[s->n_tasks];
		t->id = keep(s, t->id);
		t->tool = keep(s, t->tool);
		t->face = keep(s, t->face);
		t->thread = t->session = t->result = NULL;
	}
	prepare(s);
}

static void take_over(struct search *s, const struct session_record *row)
{
	free(s->owner);
	s->owner = xstrdup(row->owner);
	s->epoch = row->epoch;
	s->job = store_tasks(registry_of(s)->store, s->id, on_tasks, s);
}

static void on_row(void *ctx, const struct rows *rows, const struct fail *f)
{
	struct search *s = ctx;
	AUTO(fail_release) struct fail why = { 0 };
	struct registry *r = registry_of(s);
	struct session_entry *ours = NULL;
	s->load = NULL;
	if (f || !rows->n) {
		conclude(s, NULL, f ? f : (cause_no_session(&why, s->id), &why));
		return;
	}
	const struct session_record *row = &rows->v[0];
	/* Another search of this server may have been faster. */
	if (conversation_check(s->conversation, row->thread, s->id, &why) == 0)
		ours = registry_find(r, s->id);
	if (ours && session_state(ours->session) == SESSION_STOPPING)
		ours = NULL;
	if (ours)
		conclude(s, ours, NULL);
	else if (streq(row->owner, r->self.id) && row->state != ROW_ENDED && !why.kind)
		conclude(s, NULL, (cause_no_session(&why, s->id), &why));
	else if (judge(s, row, rows->owner_dead[0], &why) < 0)
		conclude(s, NULL, &why);
	else
		take_over(s, row);
}

static void load_row(struct search *s)
{
	struct registry *r = registry_of(s);
	s->load = rows_load(&(struct rows_spec){
		.loop = r->loop, .config = r->config, .store = r->store, .id = s->id, .fn = on_row, .ctx = s });
}

static void on_search_known(void *ctx, const char *id UNUSED)
{
	load_row(ctx);
}

void adopt_one(struct conversation *c, const char *id)
{
	if (find(c, id))
		return;
	struct search *s = search_new(c, id);
	if (c->id) {
		load_row(s);
		return;
	}
	s->wait.fn = on_search_known;
	s->wait.ctx = s;
	conversation_prepare(c, &s->wait);
}

/* --- by name or by the beginning of an id ------------------------------------------------------------------------- */

/* The search continues by id, and joins a search for the same id if there is one. */
static void go_on_by_id(struct search *s, const char *id)
{
	struct conversation *c = s->conversation;
	struct registry *r = c->registry;
	struct session_entry *ours = registry_find(r, id);
	ops_rename(r, c, s->id, id);
	search_free(s);
	if (ours && session_state(ours->session) != SESSION_STOPPING)
		ops_found(r, c, id, ours, NULL);
	else
		adopt_one(c, id);
	ops_adopted(r);
}

static void on_named(void *ctx, const struct rows *rows, const struct fail *f)
{
	struct search *s = ctx;
	AUTO(fail_release) struct fail why = { 0 };
	AUTO(freep) char *word = xstrdup(s->id);
	s->load = NULL;
	if (f || rows_resolve(rows, &word, &why) < 0)
		conclude(s, NULL, f ? f : &why);
	else
		go_on_by_id(s, word);
}

static void on_word_known(void *ctx, const char *id)
{
	struct search *s = ctx;
	struct registry *r = registry_of(s);
	AUTO(fail_release) struct fail none = { 0 };
	/* A search must not create an id or a store, as in on_scan_known(). */
	if (id && store_is_there(r->config))
		s->load = rows_load(&(struct rows_spec){ .loop = r->loop,
							 .config = r->config,
							 .store = r->store,
							 .conversation = id,
							 .fn = on_named,
							 .ctx = s });
	else
		conclude(s, NULL, (cause_no_session(&none, s->id), &none));
}

void adopt_word(struct conversation *c, const char *word)
{
	if (find(c, word))
		return;
	struct search *s = search_new(c, word);
	s->wait.fn = on_word_known;
	s->wait.ctx = s;
	conversation_prepare(c, &s->wait);
}

/* --- find all sessions of the conversation ------------------------------------------------------------------------ */

static void scan_free(struct scan *s)
{
	list_remove(&s->node);
	list_remove(&s->wait.node);
	rows_load_cancel(s->load);
	free(s);
}

static void end_scan(struct scan *s)
{
	struct registry *r = s->conversation->registry;
	scan_free(s);
	ops_adopted(r);
}

static void on_scanned(void *ctx, const struct rows *rows, const struct fail *f)
{
	struct scan *s = ctx;
	struct conversation *c = s->conversation;
	struct registry *r = c->registry;
	s->load = NULL;
	if (f) {
		log_debug("cannot search for sessions to adopt: %s", f->message);
		end_scan(s);
		return;
	}
	scan_free(s);
	for (size_t i = 0, begun = 0; i < rows->n && begun < ADOPTIONS_MAX; i++) {
		const struct session_record *row = &rows->v[i];
		if (row->state == ROW_ENDED || !rows->owner_dead[i] || streq(row->owner, r->self.id) ||
		    registry_find(r, row->id) || find(c, row->id) || !token_is_valid(row->id) ||
		    row->seal == SEAL_BROKEN || !rows_on_engine(row, r->engine))
			continue;
		begun++;
		if (row->state == ROW_STARTING)
			end_half_made(r, row);
		else if (runtime_find(row->runtime))
			take_over(search_new(c, row->id), row);
	}
	ops_adopted(r);
}

static void on_scan_known(void *ctx, const char *id)
{
	struct scan *s = ctx;
	struct registry *r = s->conversation->registry;
	/* A user without an id or a store has never had a session, and a search must not create either. */
	if (!id || !store_is_there(r->config)) {
		end_scan(s);
		return;
	}
	/* A user who has had sessions may soon create one, so its network is prepared. */
	if (r->config->network_enabled) {
		fence_foresee(r->fence);
		if (r->engine->ops->foresee)
			r->engine->ops->foresee(r->engine);
	}
	/* Includes sessions whose lease seems to have expired: the clock may have jumped, and PID 1 uses a
	 * different clock. */
	s->load = rows_load(&(struct rows_spec){ .loop = r->loop,
						 .config = r->config,
						 .store = r->store,
						 .conversation = id,
						 .fn = on_scanned,
						 .ctx = s });
}

void adopt_all(struct conversation *c)
{
	struct scan *s = new0(struct scan);
	s->conversation = c;
	list_init(&s->wait.node);
	list_append(&c->registry->adoptions->scans, &s->node);
	if (c->id) {
		on_scan_known(s, c->id);
		return;
	}
	s->wait.fn = on_scan_known;
	s->wait.ctx = s;
	conversation_prepare(c, &s->wait);
}

bool conversation_is_adopting(const struct conversation *c)
{
	const struct adoptions *a = c->registry->adoptions;
	list_for_each(s, &a->searches, struct search, node)
		if (s->conversation == c)
			return true;
	list_for_each(s, &a->scans, struct scan, node)
		if (s->conversation == c)
			return true;
	return false;
}

void adopt_forget(struct conversation *c)
{
	struct adoptions *a = c->registry->adoptions;
	list_for_each(s, &a->searches, struct search, node)
		if (s->conversation == c)
			search_free(s);
	list_for_each(s, &a->scans, struct scan, node)
		if (s->conversation == c)
			scan_free(s);
}

struct adoptions *adoptions_new(struct registry *r)
{
	struct adoptions *a = new0(struct adoptions);
	a->registry = r;
	list_init(&a->searches);
	list_init(&a->scans);
	return a;
}

struct adoptions *adoptions_free(struct adoptions *a)
{
	if (!a)
		return NULL;
	list_for_each(s, &a->searches, struct search, node)
		search_free(s);
	list_for_each(s, &a->scans, struct scan, node)
		scan_free(s);
	free(a);
	return NULL;
}
