/* Requests of the manager: runs, the claim, the state of the session, queries, the end. */
#include "kernels/init/init-private.h"

#include "base/alloc.h"
#include "base/json.h"
#include "kernels/guard/landlock.h"
#include "kernels/guard/spawn.h"
#include "kernels/init/info.h"
#include "kernels/init/trust.h"
#include "kernels/system/clock.h"

/* Time for a kernel to list its variables. */
#define STATUS_LIMIT_MS 2000

/* A container either installs packages or runs code. Installed packages are kept for other sessions, so no user code
 * may have run in the container that installs them. */
static bool fits(const struct init *i, const struct run *run)
{
	return (run->kind == RUN_INSTALL) == i->options->install;
}

/* The run of the same kind that must end first; 0 = none. */
static uint32_t runs_before(const struct init *i, const struct run *run)
{
	const struct kernel *k = run->kind == RUN_EXECUTE ? kernels_of(&i->kernels, run) : NULL;
	const struct run *ahead = k ? k->cell.run : i->terminals.front->run;
	return run->state == RUN_QUEUED && ahead ? ahead->number : 0;
}

static void on_run(struct controller *c, struct run *run)
{
	struct init *i = container_of(c, struct init, controller);
	if (run->kind == RUN_EXECUTE && run->state == RUN_QUEUED && fits(i, run))
		branches_take(&i->branches, run);
	if (run->restart && run->state == RUN_QUEUED)
		kernel_interrupt(i->kernels.main);
	if (run->state == RUN_QUEUED && !fits(i, run))
		run_end(run, &(struct run_ending){ .ending = "refused",
						   .detail = i->options->install ?
								     "This container only installs packages." :
								     "This container cannot install packages." });
	else if (run->kind == RUN_EXECUTE)
		init_pump_kernels(i);
	else
		init_pump_commands(i);
	run->behind = runs_before(i, run);
}

static void on_interrupt(struct controller *c, struct run *run)
{
	struct init *i = container_of(c, struct init, controller);
	if (run->state == RUN_QUEUED)
		run_end(run, &(struct run_ending){ .ending = "interrupted", .detail = "The run had not started yet." });
	else if (run->kind == RUN_EXECUTE)
		kernel_interrupt(kernels_of(&i->kernels, run));
	else
		terminals_interrupt(&i->terminals, run);
}

static void on_take(struct controller *c, struct run *run)
{
	struct init *i = container_of(c, struct init, controller);
	if (run->kind == RUN_EXECUTE)
		kernels_drain(&i->kernels);
	else
		terminals_drain(&i->terminals);
	terminals_make_way(&i->terminals);
	run_mark(run);
}

static void on_input(struct controller *c, struct run *run, const char *text, size_t n)
{
	struct init *i = container_of(c, struct init, controller);
	if (run->kind == RUN_EXECUTE)
		kernel_input(kernels_of(&i->kernels, run), text, n);
	else
		terminals_input(&i->terminals, run, text, n);
}

static void on_frame(struct controller *c)
{
	lease_renew(&container_of(c, struct init, controller)->lease, clock_now_ms());
}

/* The session that the container belongs to, the state of its kernel, and its remaining lifetime. */
static void add_state(const struct init *i, json_t *to)
{
	if (i->claimed)
		json_object_set_new(to, "session", json_string(i->session));
	json_object_set_new(to, "kernel",
			    json_string(i->options->install ? "none" : kernel_state_name(i->kernels.main)));
	json_object_set_new(to, "lease_seconds", json_integer((json_int_t)(i->lease.lease_ms / 1000)));
	if (i->lease.lifetime_ms)
		json_object_set_new(
			to, "lifetime_left_seconds",
			json_integer((json_int_t)(lease_lifetime_left_ms(&i->lease, clock_boot_ms()) / 1000)));
}

static void on_hello(struct controller *c, json_t *hello)
{
	struct init *i = container_of(c, struct init, controller);
	lease_renew(&i->lease, clock_now_ms());
	json_object_set_new(hello, "runtime", json_string(i->manifest.name));
	json_object_set_new(hello, "language_version", json_string(i->kernels.main->language_version));
	json_object_set_new(hello, "landlock", json_integer(landlock_version()));
	json_object_set_new(hello, "consoles", json_integer(CONSOLES_MAX));
	json_object_set_new(hello, "programs", json_true());
	json_object_set_new(hello, "queries", json_true());
	json_object_set_new(hello, "checkpoints", json_true());
	json_object_set_new(hello, "branches", json_true());
	json_object_set_new(hello, "links", json_true());
	json_object_set_new(hello, "files", json_true());
	json_object_set_new(hello, "streams", json_true());
	json_object_set_new(hello, "gate", json_true());
	json_object_set_new(hello, "standing", json_true());
	add_state(i, hello);
}

/* NULL, or why the directory cannot be used. */
static char *take_cwd(struct init *i, const char *cwd)
{
	if (!cwd)
		return NULL;
	AUTO(freep) char *path = spawn_path(cwd, SPAWN_WORKSPACE);
	if (!spawn_can_enter(path))
		return xasprintf("The directory '%s' does not exist or cannot be entered.", path);
	terminals_set_cwd(&i->terminals, path);
	i->cwd = take_ptr(path);
	return NULL;
}

/* NULL, or why the authority could not be added to the certificates of the session. Variables of the claim take
 * precedence over those that this adds. */
static char *take_authority(struct init *i, const struct claim *claim)
{
	AUTO(strv_release) struct strv env = { 0 };
	if (!claim->authority)
		return NULL;
	/* An install has no home directory. */
	const char *home = i->options->install ? "/tmp" : SPAWN_HOME;
	int r = trust_add(home, getenv("SSL_CERT_FILE"), claim->authority, &env);
	if (r < 0)
		return xasprintf("The certificates of the session's gate cannot be written below %s: %s.", home,
				 strerror(-r));
	for (size_t k = 0; k < env.n; k++)
		strv_set_env(&i->env, env.v[k]);
	terminals_add_env(&i->terminals, &env);
	return NULL;
}

static void set_terms(struct init *i, const struct claim *claim)
{
	memcpy(i->session, claim->session, sizeof(i->session));
	lease_claim(&i->lease, claim->lease_ms, claim->lifetime_ms, clock_now_ms(), clock_boot_ms());
	for (size_t k = 0; k < claim->env.n; k++)
		strv_set_env(&i->env, claim->env.v[k]);
	terminals_add_env(&i->terminals, &claim->env);
	if ((claim->env.n || claim->cwd || claim->authority) && !i->options->install)
		kernels_restart(&i->kernels);
}

static json_t *on_claim(struct controller *c, const struct claim *claim)
{
	struct init *i = container_of(c, struct init, controller);
	if (i->claimed && !streq(i->session, claim->session))
		return NULL;
	AUTO(freep) char *refused = i->claimed ? NULL : take_cwd(i, claim->cwd);
	if (!i->claimed && !refused)
		refused = take_authority(i, claim);
	if (!i->claimed && !refused) {
		i->claimed = true;
		set_terms(i, claim);
	}
	json_t *answer = json_pack("{s:s, s:s*}", "event", "claimed", "refused", refused);
	add_state(i, answer);
	return answer;
}

static void send_status(struct init *i)
{
	uint32_t call = i->status_call;
	i->status_call = 0;
	timeout_stop(&i->status_limit);
	json_auto_t *info = json_object();
	add_state(i, info);
	info_add_figures(info, &i->home, &i->limits);
	const struct kernel *k = i->kernels.main;
	if (k->variables.list) {
		json_object_set(info, "variables", k->variables.list);
		json_object_set_new(info, "more", json_integer((json_int_t)k->variables.more));
		json_object_set_new(info, "fresh", json_boolean(k->variables_fresh));
	}
	if (!i->options->install) {
		checkpoints_add_info(&i->kernels.checkpoints, info);
		branches_add(&i->branches, info, /* measure= */ true);
	}
	controller_info(&i->controller, call, info);
}

void init_on_variables(struct kernel *k)
{
	struct init *i = init_of(k);
	if (i->status_call && !k->branch)
		send_status(i);
}

static void on_status_limit(struct timeout *t)
{
	send_status(container_of(t, struct init, status_limit));
}

/* A busy kernel is not interrupted: its last known list of variables is used. */
static void on_status(struct controller *c, uint32_t call)
{
	struct init *i = container_of(c, struct init, controller);
	i->status_call = call;
	if (i->kernels.main->variables_fresh || !kernel_list_variables(i->kernels.main))
		send_status(i);
	else
		timeout_start(&i->poller, &i->status_limit, STATUS_LIMIT_MS, on_status_limit);
}

static void on_query(struct controller *c, uint32_t call, const json_t *request)
{
	struct init *i = container_of(c, struct init, controller);
	static const char none[] = "{\"status\":\"cannot\"}";
	if (i->options->install || i->ending)
		controller_answer(c, call, none, sizeof(none) - 1);
	else
		kernel_query(i->kernels.main, call, request);
}

void init_on_answer(struct kernel *k, uint32_t number, const void *json, size_t n)
{
	controller_answer(&init_of(k)->controller, number, json, n);
}

static void on_checkpoint(struct controller *c, uint32_t call, const json_t *request)
{
	struct init *i = container_of(c, struct init, controller);
	static const char none[] = "{\"status\":\"cannot\",\"why\":\"This container only installs packages.\"}";
	if (i->options->install || i->ending)
		controller_answer(c, call, none, sizeof(none) - 1);
	else if (!branches_request(&i->branches, call, request))
		checkpoints_request(&i->kernels.checkpoints, call, request);
}

static void answer_checkpoint(struct init *i, uint32_t call, const json_t *answer)
{
	AUTO(buf_release) struct buf text = { 0 };
	json_auto_t *whole = json_copy((json_t *)answer);
	branches_add(&i->branches, whole, /* measure= */ false);
	json_print(&text, whole);
	controller_answer(&i->controller, call, text.data, text.len);
}

void init_on_branches(struct branches *all, uint32_t call, const json_t *answer)
{
	answer_checkpoint(container_of(all, struct init, branches), call, answer);
}

void init_on_checkpoints(struct checkpoints *all, uint32_t call, const json_t *answer)
{
	answer_checkpoint(init_of(all->kernel), call, answer);
}

static void on_stop(struct controller *c)
{
	init_stop(container_of(c, struct init, controller));
}

/* The gate's refusals arrive before the end of the run that caused them. */
static void on_ending(struct runs *all)
{
	gate_report(&container_of(all, struct init, runs)->controller.gate);
}

int init_start_controller(struct init *i)
{
	runs_init(&i->runs, &i->limits);
	i->runs.on_ending = on_ending;
	i->consoles = (struct consoles){
		.poller = &i->poller,
		.sender = &i->controller.sender,
		.limits = &i->limits,
		.state = &i->terminals.state,
		.more_env = &i->terminals.more_env,
		.refuses = i->options->install,
		.on_open = init_on_console,
	};
	consoles_init(&i->consoles);
	i->controller = (struct controller){
		.poller = &i->poller,
		.runs = &i->runs,
		.consoles = &i->consoles,
		.home = &i->home,
		.on_frame = on_frame,
		.on_hello = on_hello,
		.on_claim = on_claim,
		.on_run = on_run,
		.on_interrupt = on_interrupt,
		.on_take = on_take,
		.on_input = on_input,
		.on_status = on_status,
		.on_query = on_query,
		.on_checkpoint = on_checkpoint,
		.on_stop = on_stop,
	};
	return controller_init(&i->controller);
}
