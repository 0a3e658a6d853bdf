#include "manager/session/session-private.h"

#include "base/alloc.h"
#include "base/log.h"
#include "kernels/protocol.h"
#include "manager/model/cause.h"
#include "manager/model/pool.h"
#include "manager/model/token.h"

#define START_DEADLINE_MS 90000
/* A line that was silent for its whole lease is given up after this number of failures in a row. */
#define RETRIES 6u
/* If the engine did not answer, the container's labels are checked again after this delay. */
#define CHECK_AGAIN_MS 500
/* How long to wait for the engine's event with the cause after the line broke because the container is gone. */
#define CAUSE_WAIT_MS 1500
/* If the OOM killer kills PID 1 itself, the container dies at once. An OOM event longer ago than this was about a
 * child. */
#define OOM_TO_DEATH_MS 2000
/* If a container is gone within this time after its engine was unreachable, the engine's restart ended it. */
#define ENGINE_RESTART_MS 120000

static void set_state(struct session *s, enum session_state state)
{
	log_debug("session %s: %s -> %s", s->id, session_state_name(s->state), session_state_name(state));
	s->state = state;
}

static bool is_over(const struct session *s)
{
	return s->state == SESSION_DEAD || s->state == SESSION_STOPPING;
}

/* --- events from PID 1 ------------------------------------------------------------------------------------------- */

static void become_warm(struct session *s)
{
	if (!s->kernel_up || s->state != SESSION_STARTING)
		return;
	s->deadline = timer_free(s->deadline);
	set_state(s, SESSION_WARM);
	s->spec.handler.on_ready(s->spec.handler.ctx, s);
}

static void become_ready(struct session *s)
{
	if (s->unclaimed) {
		become_warm(s);
		return;
	}
	if (!s->claimed || !s->kernel_up || (s->state != SESSION_STARTING && s->state != SESSION_ADOPTING))
		return;
	s->deadline = timer_free(s->deadline);
	/* A take-over does not count as use. */
	if (s->state == SESSION_STARTING)
		session_dispatch(s)->used_ms = loop_now_ms();
	set_state(s, SESSION_READY);
	s->spec.handler.on_ready(s->spec.handler.ctx, s);
}

static void note_lifetime(struct session *s, bool known, uint64_t left_seconds)
{
	s->ends_ms = known ? loop_now_ms() + left_seconds * 1000 : 0;
}

static void on_hello(void *ctx, const struct wire_hello *hello)
{
	struct session *s = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	s->engine_away_ms = 0;
	if (*hello->session && !streq(hello->session, s->id)) {
		cause_set(&f, FAIL_DIED, CAUSE_PROTOCOL, "the container serves another session");
		s->own &= !s->store;
		session_end(s, &f);
		return;
	}
	s->own = true;
	if (s->stops) {
		session_stop(s);
		return;
	}
	/* Older versions of Husk had no claims: their containers belonged to a session from the start. */
	s->claimed |= *hello->session || s->state == SESSION_ADOPTING;
	if (s->claimed)
		note_lifetime(s, hello->has_lifetime, hello->lifetime_left_seconds);
	s->kernel_up |= hello->kernel_ready;
	become_ready(s);
}

static void on_event(void *ctx, const struct wire_event *event)
{
	struct session *s = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	switch (event->kind) {
	case WIRE_EVENT_CLAIMED:
		if (event->refused) {
			cause_set(&f, FAIL_INVALID, CAUSE_NO_DIRECTORY, "%s", event->refused);
			session_end(s, &f);
			break;
		}
		s->claimed = true;
		s->kernel_up = event->kernel_ready;
		note_lifetime(s, event->has_lifetime, event->lifetime_left_seconds);
		become_ready(s);
		break;
	case WIRE_EVENT_READY:
		s->kernel_up = true;
		become_ready(s);
		break;
	case WIRE_EVENT_FAILED:
		cause_set(&f, FAIL_DIED, CAUSE_KERNEL_FAILED, "the %s kernel did not start: %s", s->spec.runtime->name,
			  event->detail ? event->detail : "no reason given");
		session_end(s, &f);
		break;
	case WIRE_EVENT_ENDING:
		cause_set(&s->ending, FAIL_DIED, event->cause, "%s",
			  event->detail ? event->detail : "the container ended itself");
		break;
	case WIRE_EVENT_OLD_EPOCH:
		session_lose(s);
		break;
	case WIRE_EVENT_DIED:
		/* PID 1 starts another kernel, but would report this death to the session that claims the
		 * container. */
		if (s->unclaimed) {
			cause_set(&f, FAIL_DIED, CAUSE_KERNEL_FAILED,
				  "the kernel died before the container was claimed");
			session_end(s, &f);
		}
		break;
	case WIRE_EVENT_OTHER:
		break;
	}
}

/* --- endings ----------------------------------------------------------------------------------------------------- */

static void on_removed(void *ctx, const struct fail *f)
{
	struct session *s = ctx;
	s->task = NULL;
	if (!f)
		transport_local_forget(s->transport);
	if (s->state == SESSION_STOPPING)
		s->spec.handler.on_stopped(s->spec.handler.ctx, s, f);
}

/* A row of the store without a valid seal must not decide which container is removed. No container has the mark
 * "-", so in this case none is removed. */
static void remove_container(struct session *s)
{
	struct container_ref ref = { .name = s->container, .store = s->store, .mark = s->own ? s->mark : "-" };
	s->task = s->spec.engine->ops->remove(s->spec.engine, &ref, on_removed, s);
}

void session_end(struct session *s, const struct fail *cause)
{
	if (is_over(s))
		return;
	fail_copy(&s->death, cause);
	set_state(s, SESSION_DEAD);
	s->deadline = timer_free(s->deadline);
	s->query = s->spec.engine->ops->query_free(s->query);
	line_close(s->line, cause);
	/* Removes what is left of the container. Usually the engine has removed it already. */
	if (s->task)
		s->spec.engine->ops->task_cancel(take_ptr(s->task));
	if (!s->lost && s->own)
		remove_container(s);
	line_cut(s->line, cause->kind == FAIL_DIED ? ENDING_CONTAINER_DIED : ENDING_SESSION_LOST, &s->death);
	s->spec.handler.on_dead(s->spec.handler.ctx, s);
	if (s->stops)
		session_stop(s);
}

void session_keep_dead(struct session *s, const struct fail *why)
{
	fail_copy(&s->death, why);
	set_state(s, SESSION_DEAD);
}

void session_end_explained(struct session *s, const struct fail *cause)
{
	session_end(s, cause ? cause : &s->unexplained);
}

void session_lose(struct session *s)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (is_over(s))
		return;
	s->lost = true;
	cause_set(&f, FAIL_BUSY, CAUSE_TAKEN_OVER, "another server has taken the session over");
	session_end(s, &f);
}

static void die_unexplained(void *ctx)
{
	struct session *s = ctx;
	session_end(s, &s->unexplained);
}

/* The event of a kill or a removal does not say who did it, but the owner may know. It has CAUSE_WAIT_MS to
 * answer. */
static void die_once_explained(struct session *s, const struct fail *cause)
{
	const struct session_handler *h = &s->spec.handler;
	bool unclear = cause_of(cause) == CAUSE_EXITED || cause_of(cause) == CAUSE_REMOVED;
	if (s->unexplained.kind && !is_over(s))
		return;
	if (!unclear || is_over(s) || !h->on_unexplained || !h->on_unexplained(h->ctx, s)) {
		session_end(s, cause);
		return;
	}
	fail_copy(&s->unexplained, cause);
	timer_free(s->deadline);
	s->deadline = timer_new(s->spec.loop, die_unexplained, s);
	timer_start(s->deadline, CAUSE_WAIT_MS, 0);
}

/* The cause of a missing container, if no event gave a better one. */
static void explain_absence(const struct session *s, struct fail *f)
{
	if (s->ending.kind)
		fail_copy(f, &s->ending);
	else if (s->engine_away_ms && loop_now_ms() - s->engine_away_ms < ENGINE_RESTART_MS)
		cause_set(f, FAIL_DIED, CAUSE_ENGINE_RESTARTED,
			  "container no longer exists (the container engine ended it when it was restarted)");
	else
		cause_set(f, FAIL_DIED, CAUSE_REMOVED, "container no longer exists (removed externally)");
}

static void on_cause_wait_over(void *ctx)
{
	struct session *s = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	explain_absence(s, &f);
	die_once_explained(s, &f);
}

static void on_container_state(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct session *s = ctx;
	AUTO(fail_release) struct fail cause = { 0 };
	s->query = s->spec.engine->ops->query_free(s->query);
	if (f || !answer->container.is_there || answer->container.running || s->ending.kind)
		explain_absence(s, &cause);
	else
		(void)engine_death(&cause, answer->container.oom, answer->container.exit_code);
	die_once_explained(s, &cause);
}

/* Asks how the container ended, if the engine sends no events. False: wait for an event instead. */
static bool query_cause(struct session *s)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct engine *e = s->spec.engine;
	if (engine_capabilities(e).feeds_events)
		return false;
	struct query_spec query = {
		.kind = ENGINE_QUERY_CONTAINER, .subject = s->container, .done = on_container_state, .ctx = s
	};
	s->query = e->ops->query_free(s->query);
	s->query = e->ops->query(e, &query, &f);
	return s->query != NULL;
}

static void wait_for_cause(struct session *s)
{
	if (s->unexplained.kind || query_cause(s))
		return;
	if (!s->deadline)
		s->deadline = timer_new(s->spec.loop, on_cause_wait_over, s);
	timer_start(s->deadline, CAUSE_WAIT_MS, 0);
}

static void explain_death(struct session *s, const struct engine_event *event, struct fail *f)
{
	/* An OOM event alone may be about a child. If exit code 137 follows at once, the kernel killed PID 1. */
	bool oom = event->exit_code == 137 && s->oom_ms && loop_now_ms() - s->oom_ms < OOM_TO_DEATH_MS;
	if (s->ending.kind)
		fail_copy(f, &s->ending);
	else if (event->why)
		fail_copy(f, event->why);
	else
		(void)engine_death(f, oom, event->exit_code);
}

void session_engine_away(struct session *s)
{
	s->engine_away_ms = loop_now_ms();
}

/* True if these are ids of two containers. An unknown id ("") may belong to the same container. */
static bool are_two(const char *id, const char *other)
{
	return *id && *other && !streq(id, other);
}

void session_on_event(struct session *s, const struct engine_event *event)
{
	AUTO(fail_release) struct fail f = { 0 };
	/* The event is about an earlier container of the same name, which the engine had to create again. */
	if (are_two(s->container_id, event->id))
		return;
	switch (event->kind) {
	case EVENT_OOM:
		s->oom_ms = loop_now_ms();
		return;
	case EVENT_DIE:
		explain_death(s, event, &f);
		break;
	case EVENT_DESTROY:
		explain_absence(s, &f);
		break;
	}
	/* While a create is under way, its outcome says more than events: the engine also removes a container that
	 * it failed to start. */
	if (s->state == SESSION_STARTING && s->task) {
		if (event->kind == EVENT_DIE && (!s->ending.kind || are_two(s->ending_id, event->id))) {
			fail_move(&s->ending, &f);
			snprintf(s->ending_id, sizeof(s->ending_id), "%s", event->id);
		}
		return;
	}
	die_once_explained(s, &f);
}

/* The failure names the host of a pool, unless its engine already did. */
static void end_unreachable(struct session *s, const struct fail *f)
{
	const char *host = cause_of(f) == CAUSE_NO_ANSWER ? pool_host_of(s->container) : NULL;
	AUTO(fail_release) struct fail lost = { 0 };
	fail_copy(&lost, f);
	if (host)
		fail_wrap(&lost, "host '%s'", host);
	session_end(s, &lost);
}

static void on_broken(void *ctx, const struct fail *f)
{
	struct session *s = ctx;
	bool starting = s->state == SESSION_STARTING;
	AUTO(fail_release) struct fail unwatched = { 0 };
	if (cause_of(f) == CAUSE_NO_ENGINE)
		session_engine_away(s);
	if (cause_of(f) == CAUSE_PROTOCOL) {
		session_end(s, f);
	} else if (f->kind == FAIL_DIED && s->state == SESSION_ADOPTING) {
		cause_set(&unwatched, FAIL_DIED, CAUSE_UNWATCHED, SESSION_UNWATCHED);
		session_end(s, &unwatched);
	} else if (f->kind == FAIL_DIED && !starting) {
		wait_for_cause(s);
	} else if (line_failures(s->line) < RETRIES || (!starting && line_in_lease(s->line))) {
		/* An engine needs time to restart, and PID 1 keeps everything for the lease. */
		line_retry(s->line);
	} else {
		end_unreachable(s, f);
	}
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static void on_created(void *ctx, const struct engine_created *created, const struct fail *f)
{
	struct session *s = ctx;
	s->task = NULL;
	if (s->state != SESSION_STARTING)
		return;
	snprintf(s->container_id, sizeof(s->container_id), "%s", created ? created->id : "");
	if (are_two(s->container_id, s->ending_id))
		fail_release(&s->ending);
	if (f)
		session_end(s, f);
	else if (s->ending.kind)
		session_end(s, &s->ending);
	else {
		transport_local_created(s->transport, created);
		line_open(s->line);
	}
}

static void on_start_deadline(void *ctx)
{
	struct session *s = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_TIMEOUT, "the %s kernel did not start in %d s", s->spec.runtime->name,
		 START_DEADLINE_MS / 1000);
	fail_hint(&f, "the machine may be overloaded: stop sessions that are no longer needed and try again");
	session_end(s, &f);
}

static struct session *prepare(const struct session_spec *spec, enum session_state state, const char *container,
			       uint64_t epoch)
{
	struct session *s = new0(struct session);
	s->spec = *spec;
	s->image = xstrdup(spec->image);
	s->container = xstrdup(container);
	s->state = state;
	s->epoch = epoch;
	s->created_ms = loop_now_ms();
	s->transport = transport_local_new(spec->loop, spec->engine, spec->config, container);
	s->line = line_new(&(struct line_spec){
		.loop = spec->loop,
		.config = spec->config,
		.transport = s->transport,
		.container = s->container,
		.epoch = epoch,
		.lease_ms = spec->config->lease * 1000,
		.handler = { .on_hello = on_hello, .on_event = on_event, .on_broken = on_broken, .ctx = s },
	});
	return s;
}

struct session *session_new(const struct session_spec *spec)
{
	struct session *s = prepare(spec, SESSION_STARTING, spec->container, /* epoch= */ 1);
	token_make(s->id);
	s->mark = xmalloc(TOKEN_SIZE);
	token_make(s->mark);
	s->own = true;
	return s;
}

unsigned session_uid(const char *container)
{
	return SESSION_UID_MIN + token_number(container, SESSION_USERS);
}

static void start_deadline(struct session *s)
{
	timer_free(s->deadline);
	s->deadline = timer_new(s->spec.loop, on_start_deadline, s);
	timer_start(s->deadline, START_DEADLINE_MS, 0);
}

static void send_claim(struct session *s, const struct session_terms *terms)
{
	const struct config *c = s->spec.config;
	line_claim(s->line, &(struct wire_claim){ .session = s->id,
						  .lease_seconds = c->lease,
						  .lifetime_seconds = c->max_lifetime,
						  .env = terms->env,
						  .cwd = terms->cwd,
						  .authority = terms->authority });
}

void session_claim(struct session *s, const struct session_terms *terms)
{
	s->unclaimed = false;
	s->created_ms = loop_now_ms();
	set_state(s, SESSION_STARTING);
	start_deadline(s);
	send_claim(s, terms);
}

/* A container with its own kernel (gVisor) keeps the network interfaces that it was started with, so its network
 * cannot be attached later. Containers share this machine's kernel if they can dial a socket of this server. So do
 * those of the default runtime, once another container of that runtime has shown that it does. */
static bool shares_kernel(const struct engine *e, const struct config *c)
{
	return !engine_is_gvisor(c->runtime) && (e->dials == SUPPORT_YES || (e->our_kernel && !c->runtime));
}

/* For PID 1; NULL = its default. */
static const char *checkpoints_mode(const struct config *c)
{
	if (c->checkpoints == KEEP_CHECKPOINTS_OFF)
		return "off";
	if (engine_is_gvisor(c->runtime))
		return "gvisor";
	return c->checkpoints == KEEP_CHECKPOINTS_REQUEST ? "request" : NULL;
}

void session_start(struct session *s, const struct session_start *start)
{
	const struct config *c = s->spec.config;
	const struct limits *limits = &s->spec.limits;
	struct container_spec spec = {
		.name = s->container,
		.image = s->image,
		.store = start->store,
		.owner = start->owner,
		.mark = s->mark,
		.uid = session_uid(s->container),
		.memory = limits->memory,
		.cpu_quota = limits->cpu_quota,
		.pids = limits->pids,
		.tmpfs = limits->tmpfs,
		.home = limits->home,
		.quota = limits->home,
		.disk_floor = c->disk_floor,
		.checkpoints = checkpoints_mode(c),
		.lease = c->lease,
		.network = s->spec.network,
		.gated = start->gated,
		.network_late = s->spec.runtime->slow_start && shares_kernel(s->spec.engine, c),
		.keep_proxies = c->proxy_enabled,
		.ca_bundle = start->reaches_hosts ? c->ca_bundle : NULL,
		.runtime = c->runtime,
		.env = start->env,
		.line_dir = transport_local_invite(s->transport),
	};
	s->created_ms = loop_now_ms();
	start_deadline(s);
	s->unclaimed = start->unclaimed;
	if (!s->unclaimed)
		send_claim(s, &start->terms);
	s->task = s->spec.engine->ops->create(s->spec.engine, &spec, on_created, s);
}

/* --- adoption ---------------------------------------------------------------------------------------------------- */

static void on_check_failed(struct session *s, const struct fail *f)
{
	if (loop_now_ms() < s->check_until_ms)
		timer_start(s->deadline, CHECK_AGAIN_MS, 0);
	else
		session_end(s, f);
}

static void on_checked(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct session *s = ctx;
	struct container_ref ref = { .name = s->container, .store = s->store, .mark = s->mark };
	AUTO(fail_release) struct fail why = { 0 };
	if (f)
		fail_copy(&why, f);
	else if (!answer->container.is_there)
		cause_set(&why, FAIL_DIED, CAUSE_UNWATCHED, SESSION_UNWATCHED);
	else if (!engine_is_meant(&answer->container, &ref))
		(void)engine_not_meant(&why, s->container);
	else
		snprintf(s->container_id, sizeof(s->container_id), "%s", answer->container.id);
	s->own &= !why.kind || f;
	s->query = s->spec.engine->ops->query_free(s->query);
	if (f) {
		on_check_failed(s, &why);
	} else if (why.kind) {
		session_end(s, &why);
	} else {
		s->deadline = timer_free(s->deadline);
		transport_local_find(s->transport);
		line_open(s->line);
	}
}

static void check_container(void *ctx)
{
	struct session *s = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	struct query_spec query = {
		.kind = ENGINE_QUERY_CONTAINER, .subject = s->container, .done = on_checked, .ctx = s
	};
	s->query = s->spec.engine->ops->query(s->spec.engine, &query, &f);
	if (!s->query)
		on_check_failed(s, &f);
}

struct session *session_adopt(const struct session_spec *spec, const struct session_past *past)
{
	struct session *s = prepare(spec, SESSION_ADOPTING, past->container, past->epoch);
	snprintf(s->id, sizeof(s->id), "%s", past->id);
	s->created_ms -= MIN(past->age_ms, s->created_ms);
	session_dispatch(s)->used_ms -= MIN(past->idle_ms, session_dispatch(s)->used_ms);
	s->store = xstrdup(past->store ? past->store : "");
	s->mark = past->mark ? xstrdup(past->mark) : NULL;
	s->own = past->sealed;
	s->check_until_ms = loop_now_ms() + spec->config->lease * 1000;
	s->deadline = timer_new(spec->loop, check_container, s);
	timer_start(s->deadline, 0, 0);
	return s;
}

void session_stop(struct session *s)
{
	if (s->state == SESSION_STOPPING)
		return;
	s->stops = s->state == SESSION_ADOPTING && !s->own;
	if (s->stops)
		return;
	bool dead = s->state == SESSION_DEAD;
	AUTO(fail_release) struct fail copying = { 0 }, running = { 0 };
	cause_set(&copying, FAIL_DIED, CAUSE_STOPPED, "the session was stopped while files were copied");
	cause_set(&running, FAIL_DIED, CAUSE_STOPPED, "the session was stopped while this ran");
	set_state(s, SESSION_STOPPING);
	s->deadline = timer_free(s->deadline);
	s->query = s->spec.engine->ops->query_free(s->query);
	/* Without a valid seal, only the container's labels decide whether it belongs to this session. */
	(s->own ? line_stop : line_close)(s->line, &copying);
	/* A create in progress is cancelled, which removes its container. A removal after a death continues. */
	if (s->task && !dead)
		s->spec.engine->ops->task_cancel(take_ptr(s->task));
	if (!s->task)
		remove_container(s);
	line_cut(s->line, ENDING_INTERRUPTED, &running);
}

struct session *session_free(struct session *s)
{
	if (!s)
		return NULL;
	if (s->task)
		s->spec.engine->ops->task_cancel(take_ptr(s->task));
	s->spec.engine->ops->query_free(s->query);
	line_free(s->line);
	timer_free(s->deadline);
	fail_release(&s->death);
	fail_release(&s->unexplained);
	fail_release(&s->ending);
	free(s->container);
	free(s->mark);
	free(s->store);
	free(s->image);
	free(s);
	return NULL;
}
