#include "manager/registry/member.h"
#include "manager/model/image.h"

#include "base/alloc.h"
#include "manager/deps/set.h"
#include "manager/model/cause.h"
#include "manager/model/token.h"
#include "manager/registry/claims.h"
#include "manager/registry/conversation.h"
#include "manager/registry/keeper.h"
#include "manager/registry/kept-limits.h"
#include "manager/registry/task.h"

static void tell_conversation(const struct member *m)
{
	AUTO(fail_release) struct fail foreign = { 0 };
	list_for_each(c, &m->registry->conversations, struct conversation, node)
		if (c->on_session && conversation_check(c, m->thread, session_id(m->session), &foreign) == 0)
			c->on_session(c->on_session_ctx);
}

static void on_ready(void *ctx, struct session *s UNUSED)
{
	struct member *m = ctx;
	if (*m->warm) {
		m->on_warm(m);
		return;
	}
	/* A new session is recorded by its create before its id is delivered. */
	if (m->adopted) {
		claim_renew(m);
		log_adopted(m);
	}
	tasks_ready(m);
	tell_conversation(m);
	ops_ready(m);
}

static void on_dead(void *ctx, struct session *s)
{
	struct member *m = ctx;
	store_cancel(take_ptr(m->explanation));
	/* The keeper also forgets the oldest dead members. That must not happen here, where a caller may be
	 * walking the list. */
	keeper_check_soon(m->registry->keeper);
	if (*m->warm) {
		m->on_warm(m);
		return;
	}
	if (!session_is_lost(s))
		claim_end(m, session_death(s)->message);
	tasks_dead(m, session_death(s));
	ops_dead(m, session_death(s));
}

static void on_explained(void *ctx, const struct session_record *row, const struct fail *f)
{
	struct member *m = ctx;
	AUTO(fail_release) struct fail cause = { 0 };
	m->explanation = NULL;
	if (!f && row && row->state == ROW_ENDED && row->cause)
		claim_explain(row, &cause);
	session_end_explained(m->session, cause.kind ? &cause : NULL);
}

/* `husk stop` records that it ends a session before it does so. */
static bool on_unexplained(void *ctx, struct session *s)
{
	struct member *m = ctx;
	if (*m->warm)
		return false;
	store_cancel(m->explanation);
	m->explanation = store_session_get(m->registry->store, session_id(s), on_explained, m);
	return true;
}

static void on_stopped(void *ctx, struct session *s, const struct fail *f)
{
	struct member *m = ctx;
	keeper_check_soon(m->registry->keeper);
	if (*m->warm) {
		member_free(m);
		return;
	}
	bool asked_for = ops_stopped(m, f);
	/* A removal that failed can be requested again. */
	if (f && asked_for) {
		session_keep_dead(s, f);
		return;
	}
	claim_end(m, /* cause= */ NULL);
	tasks_leave(m);
	member_free(m);
}

static struct session_spec spec_for(struct member *m, const struct member_spec *spec)
{
	struct registry *r = m->registry;
	return (struct session_spec){
		.loop = r->loop,
		.engine = r->engine,
		.config = r->config,
		.runtime = spec->runtime,
		.image = spec->image ? spec->image : runtime_image(spec->runtime, r->config),
		.network = spec->network,
		.limits = spec->limits,
		.handler = { .on_ready = on_ready,
			     .on_dead = on_dead,
			     .on_stopped = on_stopped,
			     .on_unexplained = on_unexplained,
			     .ctx = m },
	};
}

static struct member *join(struct registry *r, const char *thread)
{
	struct member *m = new0(struct member);
	m->registry = r;
	m->thread = xstrdup(thread);
	list_append(&r->members, &m->node);
	return m;
}

struct member *member_new(struct registry *r, const struct member_spec *spec)
{
	char container[CONTAINER_NAME_SIZE];
	token_make_container(container);
	struct member *m = join(r, spec->thread);
	struct session_spec session = spec_for(m, spec);
	session.container = container;
	m->session = session_new(&session);
	return m;
}

static void start(struct member *m, struct session_start spec)
{
	struct registry *r = m->registry;
	AUTO(strv_release) struct strv sources = { 0 };
	if (session_network(m->session))
		deps_sources(&sources, session_runtime(m->session), r->config, /* with_logins= */ false);
	keeper_start(r->keeper);
	spec.store = store_id(r->store);
	spec.owner = r->self.id;
	spec.env = &sources;
	session_start(m->session, &spec);
}

void member_start(struct member *m, const struct strv *env, const char *cwd)
{
	start(m, (struct session_start){ .own_env = env, .cwd = cwd });
}

void member_start_warm(struct member *m)
{
	start(m, (struct session_start){ .unclaimed = true });
}

void member_claim(struct member *m, const char *thread, const struct strv *env, const char *cwd)
{
	*m->warm = '\0';
	m->reserved = false;
	free(m->thread);
	m->thread = xstrdup(thread);
	/* The list is ordered by age, and its age as a session begins now. */
	list_remove(&m->node);
	list_append(&m->registry->members, &m->node);
	session_claim(m->session, env, cwd);
}

bool member_fits(const struct member *m, const struct member_spec *spec)
{
	const struct session *s = m->session;
	const char *image = spec->image ? spec->image : runtime_image(spec->runtime, m->registry->config);
	return session_runtime(s) == spec->runtime && streq(session_image(s), image) &&
	       session_network(s) == spec->network &&
	       memcmp(session_limits(s), &spec->limits, sizeof(spec->limits)) == 0;
}

struct member *member_adopt(struct registry *r, const struct session_record *row)
{
	struct member *m = join(r, row->thread);
	m->adopted = true;
	m->name = row->name ? xstrdup(row->name) : NULL;
	struct session_spec session =
		spec_for(m, &(struct member_spec){ .runtime = runtime_find(row->runtime),
						   .image = row->image,
						   .network = kept_network_read(row->limits),
						   .limits = kept_limits_read(row->limits, r->config) });
	uint64_t now = store_now_ms();
	m->session = session_adopt(&session, &(struct session_past){
						     .id = row->id,
						     .container = row->container ? row->container : "",
						     .store = store_id(r->store),
						     .mark = row->mark,
						     .sealed = row->seal == SEAL_GOOD,
						     .epoch = row->epoch,
						     .age_ms = now - MIN(row->created, now),
						     .idle_ms = row->busy ? 0 : now - MIN(row->used, now),
					     });
	keeper_start(r->keeper);
	return m;
}

int member_check(const struct member *m, struct fail *f)
{
	switch (session_state(m->session)) {
	case SESSION_DEAD:
		fail_copy(f, session_death(m->session));
		return -1;
	case SESSION_STARTING:
		return cause_set(f, FAIL_BUSY, CAUSE_STARTING, "session '%s' is still starting",
				 session_id(m->session));
	case SESSION_STOPPING:
	case SESSION_WARM:
		return cause_no_session(f, session_id(m->session));
	case SESSION_READY:
	case SESSION_ADOPTING:
		break;
	}
	return 0;
}
