/* Sessions that this server does not have: whose they are, and the taking over of those whose server is dead.
 *
 * A take-over is one compare-and-swap in the store, which raises the fence; only then is PID 1 spoken to, with that fence.
 * So of several servers that try one wins, and a former owner that turns out to be alive is kept out by PID 1. */
#include "base/alloc.h"
#include "base/log.h"
#include "manager/registry/manager-private.h"
#include "manager/registry/thread.h"
#include "manager/session/advice.h"

/* At a time, newest first: each costs an attempt to attach. */
#define ADOPTIONS_MAX 32

struct adoption {
	struct list node;
	struct manager *manager;
	struct store_job *job;
	char id[TOKEN_SIZE];
	bool retried;
};

static void on_row(void *ctx, const struct session_record *row, const struct fail *f);

static void adoption_free(struct adoption *a)
{
	list_remove(&a->node);
	store_cancel(a->job);
	free(a);
}

/* Exactly one of the two. */
static void conclude(struct adoption *a, struct session *s, const struct fail *f)
{
	struct manager *m = a->manager;
	char id[TOKEN_SIZE];
	memcpy(id, a->id, sizeof(id));
	adoption_free(a);
	manager_found(m, id, s, f);
}

static struct adoption *find(struct manager *m, const char *id)
{
	list_for_each(a, &m->adoptions, struct adoption, node)
		if (streq(a->id, id))
			return a;
	return NULL;
}

static struct adoption *adoption_new(struct manager *m, const char *id)
{
	struct adoption *a = new0(struct adoption);
	a->manager = m;
	snprintf(a->id, sizeof(a->id), "%s", id);
	list_append(&m->adoptions, &a->node);
	return a;
}

/* --- whose it is ------------------------------------------------------------------------------------------------- */

static struct owner_claim claim_of(const struct session_record *row)
{
	return (struct owner_claim){
		.id = row->owner, .place = row->owner_host, .pid = row->owner_pid, .lease_until = row->lease_until
	};
}

static bool is_free(struct manager *m, const struct session_record *row)
{
	struct owner_claim claim = claim_of(row);
	return !streq(row->owner, m->self.id) && owner_is_dead(m->config, &claim, store_now_ms());
}

/* Half-made sessions die with their server: nobody learnt their ids, and their containers were told to go. */
static void end_half_made(struct manager *m, const struct session_record *row)
{
	uint64_t now = store_now_ms();
	(void)store_session_update(m->store,
				   &(struct session_update){ .id = row->id,
							     .owner = row->owner,
							     .fence = row->fence,
							     .state = "ended",
							     .cause = "its server ended while it started",
							     .lease_until = now,
							     .used = now },
				   /* fn= */ NULL, /* ctx= */ NULL);
}

static int not_found(struct fail *f, const char *id)
{
	return fail_set(f, FAIL_NOT_FOUND, "Session '%s' not found", id);
}

static int owned_elsewhere(struct fail *f, const struct session_record *row)
{
	struct owner_claim claim = claim_of(row);
	AUTO(freep) char *owner = owner_words(&claim);
	fail_set(f, FAIL_BUSY, "Session '%s' is in use by another server of this conversation (%s)", row->id, owner);
	return fail_hint(
		f, "Create a session of your own, or end the client that uses this one: then it can be used here.");
}

/* 0 if it can be taken over. */
static int judge(struct manager *m, const struct session_record *row, const char *id, struct fail *f)
{
	if (!row || (streq(row->owner, m->self.id) && !streq(row->state, "ended")))
		return not_found(f, id);
	if (!m->thread || !streq(row->thread, m->thread))
		return fail_set(
			f, FAIL_FOREIGN,
			"Session '%s' belongs to another conversation. Use a session from your own conversation or create a new one.",
			id);
	if (streq(row->state, "ended") && !row->cause)
		return not_found(f, id);
	if (streq(row->state, "ended")) {
		fail_set(f, FAIL_DIED, "%s", row->cause);
		return fail_hint(f, "%s", advice_after_death());
	}
	if (!is_free(m, row))
		return owned_elsewhere(f, row);
	if (!streq(row->state, "starting") && runtime_find(row->runtime))
		return 0;
	if (streq(row->state, "starting"))
		end_half_made(m, row);
	return not_found(f, id);
}

/* --- taking over ------------------------------------------------------------------------------------------------- */

static void on_taken(void *ctx, const struct session_record *row, const struct fail *f)
{
	struct adoption *a = ctx;
	struct manager *m = a->manager;
	a->job = NULL;
	if (row) {
		log_debug("session %s: taken over with fence %llu", row->id, (unsigned long long)row->fence);
		conclude(a, manager_take_in(m, row), NULL);
		return;
	}
	if (f || a->retried) {
		AUTO(fail_release) struct fail busy = { 0 };
		if (!f)
			fail_set(&busy, FAIL_BUSY, "Session '%s' was taken over by another server at the same time",
				 a->id);
		conclude(a, NULL, f ? f : &busy);
		return;
	}
	/* Somebody was faster: look who. */
	a->retried = true;
	a->job = store_session_get(m->store, a->id, on_row, a);
}

static void take_over(struct adoption *a, const struct session_record *row)
{
	struct manager *m = a->manager;
	owner_announce(&m->self, m->config);
	a->job = store_session_take_over(m->store,
					 &(struct take_over){
						 .id = row->id,
						 .old_owner = row->owner,
						 .old_fence = row->fence,
						 .new_owner = m->self.id,
						 .new_owner_host = m->self.place,
						 .new_owner_pid = m->self.pid,
						 .lease_until = store_now_ms() + m->config->lease * 1000,
					 },
					 on_taken, a);
}

static void on_row(void *ctx, const struct session_record *row, const struct fail *f)
{
	struct adoption *a = ctx;
	AUTO(fail_release) struct fail why = { 0 };
	a->job = NULL;
	if (f)
		conclude(a, NULL, f);
	else if (judge(a->manager, row, a->id, &why) < 0)
		conclude(a, NULL, &why);
	else
		take_over(a, row);
}

void adopt_one(struct manager *m, const char *id)
{
	if (find(m, id))
		return;
	if (!m->thread)
		m->thread = thread_id_known(m->config);
	struct adoption *a = adoption_new(m, id);
	a->job = store_session_get(m->store, id, on_row, a);
}

/* --- all of them ------------------------------------------------------------------------------------------------- */

static void on_scanned(void *ctx, const struct session_list *list, const struct fail *f)
{
	struct manager *m = ctx;
	m->scan = NULL;
	if (f) {
		log_debug("no look for sessions to adopt: %s", f->message);
		return;
	}
	for (size_t i = 0, begun = 0; i < list->n && begun < ADOPTIONS_MAX; i++) {
		const struct session_record *row = &list->v[i];
		if (streq(row->state, "ended") || manager_session(m, row->id) || find(m, row->id) ||
		    strlen(row->id) != TOKEN_SIZE - 1 || !is_free(m, row))
			continue;
		begun++;
		if (streq(row->state, "starting"))
			end_half_made(m, row);
		else if (runtime_find(row->runtime))
			take_over(adoption_new(m, row->id), row);
	}
}

void adopt_all(struct manager *m)
{
	if (m->scan)
		return;
	if (!m->thread)
		m->thread = thread_id_known(m->config);
	/* Who has no thread or no store yet has never had a session, and is not to get either by a look at them. */
	if (!m->thread || !store_is_there(m->config))
		return;
	/* Also those whose lease seems to be over: the clock may have jumped, and PID 1 goes by another one. */
	m->scan = store_sessions(m->store, m->thread, /* all= */ true, on_scanned, m);
}

void adopt_release(struct manager *m)
{
	store_cancel(take_ptr(m->scan));
	list_for_each(a, &m->adoptions, struct adoption, node)
		adoption_free(a);
}

void manager_wake(struct manager *m)
{
	if (m->awake)
		return;
	m->awake = true;
	adopt_all(m);
}
