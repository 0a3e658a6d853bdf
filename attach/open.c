#include "attach/open.h"

#include <errno.h>
#include <sys/random.h>

#include "api/local.h"
#include "api/sockets.h"
#include "base/alloc.h"
#include "base/list.h"
#include "base/strv.h"

/* Time limit for the hellos of all servers. */
#define SEARCH_MS 5000
/* A server that has just taken the session over starts to listen a moment later, so there are up to this many
 * searches. */
#define SEARCHES 3
#define PAUSE_MS 400

struct opened {
	struct loop *loop;
	struct attach *attach;
	char *session, *runtime;
	enum attach_how how;
	void (*on_lost)(void *ctx, const struct fail *f);
	void *ctx;
	/* Used if this process serves the session itself. */
	struct config config;
	struct manager *manager;
	struct conversation *conversation;
	struct local_server *server;
	struct timer *settled;
	void (*on_settled)(void *ctx);
	void *settled_ctx;
};

/* A server to query. */
struct candidate {
	struct list node;
	struct opening *opening;
	struct attach *attach;
	bool answered;
};

struct opening {
	struct open_request request;
	struct opened *opened;	/* the object being opened */
	struct list candidates; /* of struct candidate */
	struct timer *timer;	/* time limit of the search */
	size_t silent;		/* servers that did not answer */
	struct fail refusal;	/* the answer of the last server that refused */
	char *owner;		/* the session's owner, in words */
	unsigned searches;	/* searches so far */
	bool pausing;		/* pause before the next search */
	bool opens;		/* the session is open, which is to be reported from the loop */
	struct op *op;
	void (*on_output)(void *ctx, const char *text, size_t n);
	void *output_ctx;
	struct fail fail; /* failure to report from the loop */
};

/* --- what was opened ----------------------------------------------------------------------------------------------- */

struct attach *opened_attach(struct opened *o)
{
	return o->attach;
}

const char *opened_session(const struct opened *o)
{
	return o->session;
}

const char *opened_runtime(const struct opened *o)
{
	return o->runtime;
}

enum attach_how opened_how(const struct opened *o)
{
	return o->how;
}

static void on_opened_lost(void *ctx, const struct fail *f)
{
	struct opened *o = ctx;
	if (o->on_lost)
		o->on_lost(o->ctx, f);
}

static void on_nothing_to_settle(void *ctx)
{
	struct opened *o = ctx;
	o->on_settled(o->settled_ctx);
}

void opened_settle(struct opened *o, uint64_t ms, void (*fn)(void *ctx), void *ctx)
{
	if (o->manager) {
		manager_settle(o->manager, ms, fn, ctx);
		return;
	}
	o->on_settled = fn;
	o->settled_ctx = ctx;
	if (!o->settled)
		o->settled = timer_new(o->loop, on_nothing_to_settle, o);
	timer_start(o->settled, 0, 0);
}

struct opened *opened_free(struct opened *o)
{
	if (!o)
		return NULL;
	attach_free(o->attach);
	/* In this order, calls are dropped without an answer. */
	manager_free(o->manager);
	local_server_free(o->server, /* manager_gone= */ true);
	timer_free(o->settled);
	free(o->session);
	free(o->runtime);
	free(o);
	return NULL;
}

/* --- how an opening ends ------------------------------------------------------------------------------------------- */

static void candidate_free(struct candidate *c)
{
	list_remove(&c->node);
	attach_free(c->attach);
	free(c);
}

static void opening_free(struct opening *o)
{
	list_for_each(c, &o->candidates, struct candidate, node)
		candidate_free(c);
	if (o->op)
		op_cancel(o->op);
	timer_free(o->timer);
	opened_free(o->opened);
	fail_release(&o->refusal);
	fail_release(&o->fail);
	free(o->owner);
	free(o);
}

void attach_open_cancel(struct opening *o)
{
	if (o)
		opening_free(o);
}

static void succeed(struct opening *o)
{
	struct opened *opened = take_ptr(o->opened);
	struct open_request request = o->request;
	opened->on_lost = request.on_lost;
	opened->ctx = request.ctx;
	opening_free(o);
	request.on_done(request.ctx, opened, NULL);
}

static void fail(struct opening *o, const struct fail *f)
{
	struct open_request request = o->request;
	AUTO(fail_release) struct fail why = { 0 };
	fail_copy(&why, f);
	opening_free(o);
	request.on_done(request.ctx, NULL, &why);
}

/* Fails from the loop, because failing frees a manager that may be calling this function. */
static void fail_soon(struct opening *o, const struct fail *f)
{
	fail_copy(&o->fail, f);
	timer_start(o->timer, 0, 0);
}

/* Likewise. */
static void succeed_soon(struct opening *o, enum attach_how how)
{
	o->opens = true;
	o->opened->how = how;
	timer_start(o->timer, 0, 0);
}

/* --- a manager of this process ------------------------------------------------------------------------------------- */

/* Serves the conversation to this program and to others. */
static void serve_ourselves(struct opening *o, const char *conversation)
{
	struct opened *opened = o->opened;
	opened->conversation = conversation_open(opened->manager, &(struct conversation_spec){ .id = conversation });
	opened->server = local_server_new(&(struct api_spec){ .loop = opened->loop,
							      .config = &opened->config,
							      .manager = opened->manager,
							      .conversation = opened->conversation },
					  /* api= */ NULL);
	opened->attach = attach_new(&(struct attach_spec){ .loop = opened->loop, .server = opened->server, .fd = -1 });
}

static void make_manager(struct opening *o)
{
	struct opened *opened = o->opened;
	/* One session needs no warm containers. The strings of the copied settings still belong to the caller. */
	opened->config = *o->request.config;
	opened->config.warm_pool.n = 0;
	opened->manager = manager_new(opened->loop, &opened->config);
}

/* --- a fresh session ----------------------------------------------------------------------------------------------- */

static void on_install_output(void *ctx, const char *text, size_t n)
{
	struct opening *o = ctx;
	if (o->on_output)
		o->on_output(o->output_ctx, text, n);
}

static void on_created(void *ctx, const struct create_result *result, const struct fail *f)
{
	struct opening *o = ctx;
	o->op = NULL;
	if (f) {
		fail_soon(o, f);
		return;
	}
	o->opened->session = xstrdup(result->session->id);
	o->opened->runtime = xstrdup(result->session->runtime);
	succeed_soon(o, ATTACH_FRESH);
}

static int start_fresh(struct opening *o, const struct create_request *fresh, struct fail *f)
{
	uint64_t random[2];
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return fail_set(f, FAIL_INTERNAL, "the system provides no random numbers");
	AUTO(freep) char *conversation =
		xasprintf("attach-%016llx%016llx", (unsigned long long)random[0], (unsigned long long)random[1]);
	make_manager(o);
	manager_leave_nothing(o->opened->manager);
	serve_ourselves(o, conversation);
	struct create_request request = *fresh;
	o->on_output = fresh->on_output;
	o->output_ctx = fresh->ctx;
	request.on_output = fresh->on_output ? on_install_output : NULL;
	request.on_done = on_created;
	request.ctx = o;
	o->op = manager_create(o->opened->conversation, &request, f);
	return o->op ? 0 : -1;
}

/* --- a session of a server that has ended -------------------------------------------------------------------------- */

/* The owner is alive but did not answer: find the reason. */
static void explain_owner(struct opening *o)
{
	AUTO(fail_release) struct fail why = { 0 };
	AUTO(freep) char *whose = xasprintf("Session '%s' belongs to a running server%s%s%s", o->opened->session,
					    o->owner ? " (" : "", o->owner ? o->owner : "", o->owner ? ")" : "");
	if (o->silent) {
		cause_set(&why, FAIL_BUSY, CAUSE_SERVER_SILENT, "%s and does not answer", whose);
		fail_hint(&why, "It may be stopped or overloaded; once it has ended, the session can be taken over.");
	} else if (o->refusal.kind) {
		cause_set(&why, o->refusal.kind, cause_of(&o->refusal), "%s, which refused this program: %s", whose,
			  o->refusal.message);
		if (o->refusal.hint)
			fail_hint(&why, "%s", o->refusal.hint);
	} else {
		cause_set(&why, FAIL_BUSY, CAUSE_ATTACH_OFF, "%s, which does not accept other programs", whose);
		fail_hint(&why,
			  "HUSK_ATTACH is off there, it runs on another machine, or it is older than this program.");
	}
	fail_soon(o, &why);
}

static void on_adopted(void *ctx, const struct session_details *details, const struct fail *f)
{
	struct opening *o = ctx;
	o->op = NULL;
	if (!f) {
		free(o->opened->runtime);
		o->opened->runtime = xstrdup(details->session.runtime);
		succeed_soon(o, ATTACH_ADOPTED);
		return;
	}
	if (cause_of(f) != CAUSE_OTHER_SERVER) {
		fail_soon(o, f);
		return;
	}
	if (o->silent || o->searches == SEARCHES) {
		explain_owner(o);
		return;
	}
	o->pausing = true;
	timer_start(o->timer, PAUSE_MS, 0);
}

static void on_row(void *ctx, const struct history *history, const struct fail *f)
{
	struct opening *o = ctx;
	AUTO(fail_release) struct fail why = { 0 };
	struct info_request request = { .session_id = o->opened->session, .on_done = on_adopted, .ctx = o };
	o->op = NULL;
	free(o->owner);
	o->owner = !f && history->owner ? xstrdup(history->owner) : NULL;
	if (f)
		fail_copy(&why, f);
	else if (!history->known || !history->state)
		cause_no_session(&why, o->opened->session);
	else if (streq(history->state, row_state_name(ROW_ENDED)))
		cause_set(&why, FAIL_NOT_FOUND, CAUSE_NO_SESSION, "Session '%s' has ended%s%s", o->opened->session,
			  history->cause ? ": " : "", history->cause ? history->cause : "");
	if (!why.kind) {
		serve_ourselves(o, history->conversation);
		o->op = manager_info(o->opened->conversation, &request, &why);
	}
	if (!o->op)
		fail_soon(o, &why);
}

static void adopt(struct opening *o)
{
	AUTO(fail_release) struct fail why = { 0 };
	struct history_request request = { .session_id = o->opened->session, .limit = 1, .on_done = on_row, .ctx = o };
	make_manager(o);
	o->op = manager_history(o->opened->manager, &request, &why);
	if (!o->op)
		fail_soon(o, &why);
}

/* --- a server that has the session --------------------------------------------------------------------------------- */

/* All servers have answered or timed out. */
static void search_is_over(struct opening *o)
{
	o->silent = 0;
	list_for_each(c, &o->candidates, struct candidate, node) {
		o->silent += !c->answered;
		candidate_free(c);
	}
	timer_stop(o->timer);
	adopt(o);
}

static void check_search(struct opening *o)
{
	list_for_each(c, &o->candidates, struct candidate, node)
		if (!c->answered)
			return;
	timer_start(o->timer, 0, 0);
}

/* A server that has ended owns nothing; the others report why they refuse. */
static void on_found(void *ctx, const struct session_info *info, const struct fail *f)
{
	struct candidate *c = ctx;
	struct opening *o = c->opening;
	c->answered = true;
	if (o->opens)
		return;
	if (!info) {
		if (cause_of(f) == CAUSE_NO_SERVER)
			cause_set(&o->refusal, FAIL_BUSY, CAUSE_OTHER_VERSION,
				  "it has another version of Husk, whose answers this one cannot read");
		else if (f->kind != FAIL_NOT_FOUND)
			fail_copy(&o->refusal, f);
		check_search(o);
		return;
	}
	o->opened->attach = take_ptr(c->attach);
	free(o->opened->runtime);
	o->opened->runtime = xstrdup(info->runtime);
	attach_watch(o->opened->attach, o->opened->session, on_opened_lost, o->opened);
	succeed_soon(o, ATTACH_SERVED);
}

static void try_server(struct opening *o, const char *path)
{
	int fd = sockets_dial(path);
	/* A server that has ended owns nothing; one that does not accept connections may be the owner. */
	if (fd < 0 && fd != -EAGAIN)
		return;
	AUTO(fail_release) struct fail never = { 0 };
	struct candidate *c = new0(struct candidate);
	c->opening = o;
	list_append(&o->candidates, &c->node);
	if (fd < 0)
		return;
	struct attach_find_request request = { .session_id = o->opened->session, .on_done = on_found, .ctx = c };
	c->attach = attach_new(&(struct attach_spec){ .loop = o->request.loop, .path = path, .fd = fd });
	(void)attach_find(c->attach, &request, &never);
}

static void search(struct opening *o)
{
	AUTO(strv_release) struct strv paths = { 0 };
	struct opened *opened = o->opened;
	o->pausing = false;
	o->searches++;
	fail_release(&o->refusal);
	opened->attach = attach_free(opened->attach);
	opened->manager = manager_free(opened->manager);
	opened->server = local_server_free(opened->server, /* manager_gone= */ true);
	sockets_list(o->request.config, &paths);
	timer_start(o->timer, SEARCH_MS, 0);
	for (size_t i = 0; i < paths.n; i++)
		try_server(o, paths.v[i]);
	check_search(o);
}

static void on_timer(void *ctx)
{
	struct opening *o = ctx;
	if (o->fail.kind)
		fail(o, &o->fail);
	else if (o->opens)
		succeed(o);
	else if (o->pausing)
		search(o);
	else
		search_is_over(o);
}

/* --- names and beginnings of ids ----------------------------------------------------------------------------------- */

static void on_resolved(void *ctx, const struct history *history, const struct fail *f)
{
	struct opening *o = ctx;
	o->op = NULL;
	if (!f && history->known && history->id) {
		free(o->opened->session);
		o->opened->session = xstrdup(history->id);
		o->pausing = true;
		timer_start(o->timer, 0, 0);
		return;
	}
	AUTO(fail_release) struct fail why = { 0 };
	if (!f)
		cause_no_session(&why, o->opened->session);
	fail_soon(o, f ? f : &why);
}

/* A name or the beginning of an id: the store resolves it. */
static void resolve(struct opening *o)
{
	AUTO(fail_release) struct fail why = { 0 };
	struct history_request request = {
		.session_id = o->opened->session, .limit = 1, .on_done = on_resolved, .ctx = o
	};
	make_manager(o);
	o->op = manager_history(o->opened->manager, &request, &why);
	if (!o->op)
		fail_soon(o, &why);
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

struct opening *attach_open(const struct open_request *request)
{
	struct opening *o = new0(struct opening);
	o->request = *request;
	o->request.session_id = NULL;
	o->request.fresh = NULL;
	o->opened = new0(struct opened);
	o->opened->loop = request->loop;
	list_init(&o->candidates);
	o->timer = timer_new(request->loop, on_timer, o);
	if (request->session_id) {
		o->opened->session = xstrdup(request->session_id);
		if (strlen(request->session_id) == SESSION_ID_CHARS)
			search(o);
		else
			resolve(o);
	} else if (start_fresh(o, request->fresh, &o->fail) < 0) {
		timer_start(o->timer, 0, 0);
	}
	return o;
}
