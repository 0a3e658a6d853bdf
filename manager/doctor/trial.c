/* Tries a real session of each runtime: creates it, runs a cell and the probe, and stops it. */
#include "base/alloc.h"
#include "manager/doctor/doctor-private.h"

/* Enough for a cold start on a slow machine. A trial that takes longer has hung. */
#define TRIAL_DEADLINE_MS 120000
#define CELL "1+1"
#define CELL_TIMEOUT_SECONDS 30
#define PROBE_TIMEOUT_SECONDS 120

struct trial {
	struct manager *manager;
	struct conversation *conversation;
	const struct config *config;
	struct checks *checks;
	struct timer *next, *deadline;
	struct op *op;
	bool verbose, has_neighbour;
	size_t at; /* index of the runtime */
	char *session, *transport, *neighbour;
	uint64_t began_ms, created_ms, ran_ms, probed_ms;
	void (*done)(void *ctx);
	void *ctx;
};

static const struct runtime *current(const struct trial *t)
{
	size_t n;
	const struct runtime *runtimes = runtime_list(&n);
	return t->at < n ? &runtimes[t->at] : NULL;
}

static void conclude(struct trial *t, enum check_status status, const char *fix, const char *detail)
{
	AUTO(freep) char *name = xasprintf("session %s", current(t)->name);
	checks_add(t->checks, name, status, fix, "%s", detail);
	free(take_ptr(t->session));
	free(take_ptr(t->transport));
	t->at++;
	timer_stop(t->deadline);
	timer_start(t->next, 0, 0);
}

static void conclude_failed(struct trial *t, const struct fail *f)
{
	conclude(t, CHECK_FAIL, f->hint, f->message);
}

static void on_deadline(void *ctx)
{
	struct trial *t = ctx;
	if (t->op)
		op_cancel(take_ptr(t->op));
	conclude(t, CHECK_FAIL, "check that `docker ps` answers; HUSK_LOG=debug shows more",
		 "did not finish within two minutes");
}

static void on_stopped(void *ctx, const struct fail *f)
{
	struct trial *t = ctx;
	t->op = NULL;
	if (f) {
		conclude_failed(t, f);
		return;
	}
	AUTO(freep) char *detail = xasprintf("created in %llu ms, " CELL " in %llu ms over %s, stopped in %llu ms",
					     (unsigned long long)(t->created_ms - t->began_ms),
					     (unsigned long long)(t->ran_ms - t->created_ms),
					     t->transport ? t->transport : "an unknown stream",
					     (unsigned long long)(loop_now_ms() - t->ran_ms));
	conclude(t, CHECK_OK, NULL, detail);
}

static void stop(struct trial *t)
{
	AUTO(fail_release) struct fail f = { 0 };
	t->op = manager_stop(t->conversation,
			     &(struct stop_request){ .session_id = t->session, .on_done = on_stopped, .ctx = t }, &f);
	if (!t->op)
		conclude_failed(t, &f);
}

static void on_probed(void *ctx, const struct run_result *result, const struct fail *f)
{
	struct trial *t = ctx;
	t->op = NULL;
	doctor_judge_probe(t->checks, current(t), &(struct probe_detail){ .all = t->at == 0, .verbose = t->verbose },
			   result, f);
	/* Moves all times, so that the probe does not count as part of the stop. */
	t->ran_ms += loop_now_ms() - t->probed_ms;
	t->created_ms += loop_now_ms() - t->probed_ms;
	t->began_ms += loop_now_ms() - t->probed_ms;
	stop(t);
}

static void probe(struct trial *t)
{
	AUTO(fail_release) struct fail f = { 0 };
	t->probed_ms = loop_now_ms();
	t->op = manager_run(t->conversation,
			    &(struct run_request){ .kind = RUN_TERMINAL,
						   .session_id = t->session,
						   .text = DOCTOR_PROBE,
						   .len = strlen(DOCTOR_PROBE),
						   .timeout_seconds = PROBE_TIMEOUT_SECONDS,
						   .on_done = on_probed,
						   .ctx = t },
			    &f);
	if (!t->op)
		conclude_failed(t, &f);
}

static void on_ran(void *ctx, const struct run_result *result, const struct fail *f)
{
	struct trial *t = ctx;
	AUTO(fail_release) struct fail failure = { 0 };
	t->op = NULL;
	t->ran_ms = loop_now_ms();
	if (f)
		fail_copy(&failure, f);
	else if (result->ending != ENDING_OK)
		fail_set(&failure, FAIL_ENGINE, "the cell ended as %s: %s", ending_name(result->ending),
			 result->detail ? result->detail : result->stderr_text);
	/* A session that failed is removed with the manager. */
	if (failure.kind)
		conclude_failed(t, &failure);
	else
		probe(t);
}

static void on_created(void *ctx, const struct create_result *result, const struct fail *f)
{
	struct trial *t = ctx;
	AUTO(fail_release) struct fail failure = { 0 };
	t->op = NULL;
	t->created_ms = loop_now_ms();
	if (f) {
		conclude_failed(t, f);
		return;
	}
	t->session = xstrdup(result->session->id);
	t->transport = result->session->transport ? xstrdup(result->session->transport) : NULL;
	struct run_request run = {
		.kind = RUN_CODE,
		.session_id = t->session,
		.text = CELL,
		.len = strlen(CELL),
		.timeout_seconds = CELL_TIMEOUT_SECONDS,
		.on_done = on_ran,
		.ctx = t,
	};
	t->op = manager_run(t->conversation, &run, &failure);
	if (!t->op)
		conclude_failed(t, &failure);
}

/* A failure is ignored, since the sessions that follow report the same cause. */
static void on_neighbour(void *ctx, const struct create_result *result, const struct fail *f)
{
	struct trial *t = ctx;
	t->op = NULL;
	t->neighbour = f ? NULL : xstrdup(result->session->id);
	timer_stop(t->deadline);
	timer_start(t->next, 0, 0);
}

/* The probe needs a second session to try whether sessions can reach each other. */
static bool add_neighbour(struct trial *t)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (t->has_neighbour || !t->config->network_enabled)
		return false;
	t->has_neighbour = true;
	struct create_request create = { .runtime = current(t), .network = true, .on_done = on_neighbour, .ctx = t };
	t->op = manager_create(t->conversation, &create, &f);
	if (t->op)
		timer_start(t->deadline, TRIAL_DEADLINE_MS, 0);
	return t->op;
}

static void on_neighbour_stopped(void *ctx, const struct fail *f UNUSED)
{
	struct trial *t = ctx;
	t->op = NULL;
	timer_start(t->next, 0, 0); /* done() frees the manager, so the manager must not be its caller */
}

/* A session that cannot be stopped is removed with the manager. */
static void finish(struct trial *t)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *id = take_ptr(t->neighbour);
	if (id)
		t->op = manager_stop(
			t->conversation,
			&(struct stop_request){ .session_id = id, .on_done = on_neighbour_stopped, .ctx = t }, &f);
	if (!t->op)
		t->done(t->ctx);
}

static void on_next(void *ctx)
{
	struct trial *t = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	const struct runtime *runtime = current(t);
	if (!runtime) {
		finish(t);
		return;
	}
	if (add_neighbour(t))
		return;
	t->began_ms = loop_now_ms();
	struct create_request create = {
		.runtime = runtime,
		.network = t->config->network_enabled,
		.on_done = on_created,
		.ctx = t,
	};
	t->op = manager_create(t->conversation, &create, &f);
	if (t->op)
		timer_start(t->deadline, TRIAL_DEADLINE_MS, 0);
	else
		conclude_failed(t, &f);
}

struct trial *trial_new(struct loop *loop, const struct config *config, bool verbose, struct checks *c,
			void (*done)(void *ctx), void *ctx)
{
	struct trial *t = new0(struct trial);
	t->manager = manager_new(loop, config);
	manager_leave_nothing(t->manager);
	t->conversation = conversation_open(t->manager, NULL);
	t->config = config;
	t->checks = c;
	t->verbose = verbose;
	t->next = timer_new(loop, on_next, t);
	t->deadline = timer_new(loop, on_deadline, t);
	t->done = done;
	t->ctx = ctx;
	timer_start(t->next, 0, 0);
	return t;
}

struct trial *trial_free(struct trial *t)
{
	if (!t)
		return NULL;
	timer_free(t->next);
	timer_free(t->deadline);
	manager_free(t->manager);
	free(t->session);
	free(t->transport);
	free(t->neighbour);
	free(t);
	return NULL;
}
