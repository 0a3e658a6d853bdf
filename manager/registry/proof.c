#include "manager/registry/proof.h"

#include "base/alloc.h"
#include "kernels/protocol.h"
#include "manager/line/run.h"
#include "manager/model/probe.h"

#define PROBE_SECONDS 120
#define BOOT_MAX 64

struct proof {
	struct session_entry *entry;
	void (*fn)(void *ctx, const struct fail *f);
	void *ctx;
	struct engine_query *query;
	struct store_job *job;
	struct run_waiter waiter; /* for the probe's command in the session */
	struct timer *tell;
	char *engine, *boot;
	struct fail failure;
};

static struct registry *registry_of(const struct proof *p)
{
	return p->entry->registry;
}

static void on_tell(void *ctx)
{
	struct proof *p = ctx;
	void (*fn)(void *, const struct fail *) = p->fn;
	void *fn_ctx = p->ctx;
	AUTO(fail_release) struct fail f = { 0 };
	fail_move(&f, &p->failure);
	proof_cancel(p);
	fn(fn_ctx, f.kind ? &f : NULL);
}

/* f NULL: the session is isolated. */
static void finish(struct proof *p, const struct fail *f)
{
	if (f && !p->failure.kind)
		fail_copy(&p->failure, f);
	timer_start(p->tell, 0, 0);
}

/* --- commands in the session ------------------------------------------------------------------------------------- */

typedef void (*command_end_fn)(struct run_waiter *w, struct run_result *result, const struct fail *f);

static void start_command(struct proof *p, const char *command, command_end_fn on_end)
{
	AUTO(fail_release) struct fail f = { 0 };
	p->waiter = (struct run_waiter){ .on_end = on_end };
	struct run_spec spec = { .kind = RUN_TERMINAL,
				 .timeout_seconds = PROBE_SECONDS,
				 .wait_ms = RUN_WAIT_FOR_END,
				 .text = command,
				 .len = strlen(command) };
	if (!run_start(session_dispatch(p->entry->session), &spec, &p->waiter, &f))
		finish(p, &f);
}

/* The output of a command that succeeded; NULL with f otherwise. */
static const char *output_of(const struct run_result *result, const struct fail *why, struct fail *f)
{
	if (why)
		fail_copy(f, why);
	else if (result->ending != ENDING_OK || result->stdout_truncated)
		fail_set(f, FAIL_ENGINE, "the probe in the session ended as %s", ending_name(result->ending));
	return f->kind ? NULL : result->stdout_text;
}

/* --- the probe --------------------------------------------------------------------------------------------------- */

static void on_kept(void *ctx, const struct fail *f)
{
	struct proof *p = ctx;
	p->job = NULL;
	/* If the receipt was not stored, the proof is still valid, and the next session repeats it. */
	(void)f;
	finish(p, NULL);
}

/* An act whose outcome is unknown proves nothing, so it counts as a failure. Acts against another session do not
 * count if there is no other session. */
static bool is_proven(const struct probe_report *report, struct fail *f)
{
	size_t open = report->counts[ACT_OPEN], unsure = report->counts[ACT_UNSURE];
	AUTO(freep) char *acts = probe_name_acts(report, NULL, open ? ACT_OPEN : ACT_UNSURE);
	if (open)
		cause_set(f, FAIL_ENGINE, CAUSE_NOT_PROVEN,
			  "the session is not isolated (SESSION_PROBE=require): %zu of %zu forbidden acts worked: %s",
			  open, report->n, acts);
	else if (unsure)
		cause_set(f, FAIL_ENGINE, CAUSE_NOT_PROVEN,
			  "the session is not proven to be isolated (SESSION_PROBE=require): the outcome of %zu of %zu "
			  "forbidden acts is unknown: %s",
			  unsure, report->n, acts);
	if (f->kind)
		fail_hint(f, "Only the person who runs Husk can fix this: husk doctor --probe shows each act.");
	return !f->kind;
}

static void on_probed(struct run_waiter *w, struct run_result *result, const struct fail *why)
{
	struct proof *p = container_of(w, struct proof, waiter);
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(probe_release) struct probe_report report = { 0 };
	const char *text = output_of(result, why, &f);
	if (!text || probe_read(&report, text, &f) < 0) {
		finish(p, &f);
		return;
	}
	if (!is_proven(&report, &f)) {
		finish(p, &f);
		return;
	}
	AUTO(freep) char *text_of = report.counts[ACT_NO_PEER] ?
					    xasprintf("%zu held, %zu not tried without another session",
						      report.counts[ACT_HELD], report.counts[ACT_NO_PEER]) :
					    xasprintf("%zu held", report.n);
	struct receipt_record receipt = { .image = session_image(p->entry->session),
					  .engine = p->engine,
					  .boot = p->boot,
					  .result = text_of,
					  .created = store_now_ms() };
	p->job = store_receipt_put(registry_of(p)->store, &receipt, on_kept, p);
}

static void on_receipt(void *ctx, const struct receipt_record *found, const struct fail *why UNUSED)
{
	struct proof *p = ctx;
	p->job = NULL;
	/* If the store is down, the probe runs again. */
	if (found)
		finish(p, NULL);
	else
		start_command(p, PROBE_PATH, on_probed);
}

static void on_boot(struct run_waiter *w, struct run_result *result, const struct fail *why)
{
	struct proof *p = container_of(w, struct proof, waiter);
	AUTO(fail_release) struct fail f = { 0 };
	const char *text = output_of(result, why, &f);
	if (!text) {
		finish(p, &f);
		return;
	}
	p->boot = xstrndup(text, MIN(strcspn(text, "\r\n"), BOOT_MAX));
	p->job = store_receipt_get(registry_of(p)->store, session_image(p->entry->session), p->engine, p->boot,
				   on_receipt, p);
}

static void on_engine(void *ctx, const struct engine_answer *answer, const struct fail *why)
{
	struct proof *p = ctx;
	p->query = registry_of(p)->engine->ops->query_free(p->query);
	if (why) {
		finish(p, why);
		return;
	}
	p->engine = xasprintf("%s %s", answer->version.name, answer->version.version);
	start_command(p, PROBE_PATH " boot", on_boot);
}

struct proof *proof_start(struct session_entry *entry, void (*fn)(void *ctx, const struct fail *f), void *ctx)
{
	struct engine *e = entry->registry->engine;
	struct proof *p = new0(struct proof);
	p->entry = entry;
	p->fn = fn;
	p->ctx = ctx;
	p->tell = timer_new(entry->registry->loop, on_tell, p);
	p->query = e->ops->query(e, &(struct query_spec){ .kind = ENGINE_QUERY_VERSION, .done = on_engine, .ctx = p },
				 &p->failure);
	if (!p->query)
		finish(p, NULL);
	return p;
}

void proof_cancel(struct proof *p)
{
	if (!p)
		return;
	registry_of(p)->engine->ops->query_free(p->query);
	store_cancel(p->job);
	if (p->waiter.run)
		run_abandon(&p->waiter);
	timer_free(p->tell);
	fail_release(&p->failure);
	free(p->engine);
	free(p->boot);
	free(p);
}
