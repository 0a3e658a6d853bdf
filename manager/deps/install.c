#include "manager/deps/install.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "manager/deps/install-gate.h"
#include "manager/deps/logins.h"
#include "manager/deps/set.h"
#include "manager/deps/versions.h"
#include "manager/line/line.h"
#include "manager/line/run.h"
#include "manager/model/cause.h"
#include "manager/model/token.h"

#define RETRIES 6u
/* Time that PID 1 has after the time limit, to stop the installer, measure what it wrote, and answer. */
#define GRACE_MS 30000
/* How long the container runs without a server. */
#define LEASE_SECONDS 60
/* The container must stay alive while its result is copied out of it. */
#define BAKE_SECONDS 900
#define PARTIAL_MAX 65536u
/* The end of the installer's output, for the failure message. */
#define LAST_LINES 25
#define LAST_BYTES 6000u

struct install {
	struct loop *loop;
	struct engine *engine;
	const struct config *config;
	struct install_spec spec; /* only the callbacks are used after the start */
	char container[CONTAINER_NAME_SIZE];
	char *wanted;
	struct strv env; /* the index settings as the container sees them */
	struct secret_set *logins;
	struct install_gate *gate; /* NULL = the container reaches everything by its network */
	struct strv secrets;
	const char *image, *store, *owner; /* of the container, until it is started */
	struct engine_task *task;
	struct line *line;
	struct run_waiter waiter;
	struct buf partial[2]; /* an incomplete line of stdout, and one of stderr */
	struct buf last;       /* the end of the output */
	struct timer *deadline, *tell;
	bool ended;
	char *versions; /* the result: this and its size, or the failure */
	uint64_t size;
	struct fail failure;
};

static void on_tell(void *ctx)
{
	struct install *i = ctx;
	i->spec.on_done(i->spec.ctx, i->versions, i->size, i->failure.kind ? &i->failure : NULL);
}

/* The end is reported from the loop: the owner may free the install, which may be handling a frame now. */
static void end(struct install *i)
{
	i->ended = true;
	timer_stop(i->deadline);
	timer_start(i->tell, 0, 0);
}

static void end_failed(struct install *i, const struct fail *f)
{
	if (i->ended)
		return;
	fail_copy(&i->failure, f);
	end(i);
}

/* --- output ------------------------------------------------------------------------------------------------------ */

static void say(struct install *i, const char *text, size_t n)
{
	AUTO(buf_release) struct buf clean = { 0 }, brief = { 0 }, shown = { 0 };
	utf8_clean(&clean, text, n);
	versions_shorten(&brief, buf_str(&clean), clean.len);
	deps_scrub(&shown, buf_str(&brief), brief.len, &i->secrets);
	buf_add(&i->last, shown.data, shown.len);
	if (i->last.len > 4 * LAST_BYTES)
		buf_consume(&i->last, i->last.len - 2 * LAST_BYTES);
	if (shown.len)
		i->spec.on_output(i->spec.ctx, buf_str(&shown), shown.len);
}

/* Passes on whole lines, so that a login that arrived in two pieces is found. */
static void take_output(struct install *i, int stream, const void *data, size_t n)
{
	struct buf *partial = &i->partial[stream];
	buf_add(partial, data, n);
	const char *newline = memrchr(partial->data, '\n', partial->len);
	size_t whole = newline ? (size_t)(newline + 1 - (const char *)partial->data) : 0;
	if (!whole && partial->len > PARTIAL_MAX)
		whole = partial->len;
	say(i, (const char *)partial->data, whole);
	buf_consume(partial, whole);
}

/* Truncated output may start in the middle of a line, so its first line is skipped. */
static void take_tail(struct install *i, int stream, const char *text, size_t n)
{
	const char *newline = memchr(text, '\n', n);
	size_t skip = newline ? (size_t)(newline + 1 - text) : n;
	buf_reset(&i->partial[stream]);
	take_output(i, stream, text + skip, n - skip);
}

static char *last_words(struct install *i)
{
	for (int stream = 0; stream < 2; stream++)
		say(i, buf_str(&i->partial[stream]), i->partial[stream].len);
	const char *text = buf_str(&i->last);
	size_t end = i->last.len, start, lines = 0;
	while (end && text[end - 1] == '\n')
		end--;
	for (start = end; start > 0 && end - start < LAST_BYTES; start--)
		if (text[start - 1] == '\n' && ++lines == LAST_LINES)
			break;
	start += utf8_partial_start(text + start, end - start);
	return xstrndup(text + start, end - start);
}

/* --- result ------------------------------------------------------------------------------------------------------ */

static void failed_install(struct install *i, const struct run_result *r)
{
	const struct config *c = i->config;
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *words = last_words(i);
	const char *gap = *words ? "\n" : "";
	AUTO(freep) char *trouble = i->gate ? install_gate_trouble(i->gate) : NULL;
	const char *why = r->detail ? r->detail : trouble;
	AUTO(freep) char *refused = i->gate ? install_gate_take_note(i->gate) : NULL;
	switch (r->ending) {
	case ENDING_TIMEOUT:
		cause_set(&f, FAIL_TIMEOUT, CAUSE_INSTALL_TIME, "the dependencies were not installed within %llu s%s%s",
			  (unsigned long long)c->dependency_timeout, gap, words);
		fail_hint(
			&f,
			"Use fewer or smaller packages, or versions that need no compiling, or raise DEPENDENCY_INSTALL_TIMEOUT_SECONDS.");
		break;
	case ENDING_OOM:
		cause_set(&f, FAIL_INSTALL, CAUSE_INSTALL_MEMORY, "the installer needed more than the memory limit%s%s",
			  gap, words);
		fail_hint(&f, "Use versions that need no compiling, or raise CONTAINER_MEMORY_LIMIT.");
		break;
	default:
		cause_set(&f, FAIL_INSTALL,
			  r->cause		    ? r->cause :
			  trouble && why == trouble ? CAUSE_INSTALL_INDEX :
						      CAUSE_INSTALL_FAILED,
			  "the dependencies could not be installed%s%s%s%s", why ? ": " : "", why ? why : "", gap,
			  words);
		if (r->cause == CAUSE_INSTALL_SIZE)
			fail_hint(&f, "Use fewer or smaller packages, or raise DEPENDENCY_MAX_SIZE (now %llu MiB).",
				  (unsigned long long)(c->dependency_max_size >> 20));
		else if (trouble && why == trouble)
			fail_hint(
				&f,
				"The person who runs Husk can correct the index's address, login or certificates (CONTAINER_CA_BUNDLE) in its settings; no session was created.");
		else
			fail_hint(&f, "Correct the names or versions and try again; no session was created.");
	}
	if (refused && !(trouble && why == trouble))
		fail_hint(&f, "%s", refused);
	end_failed(i, &f);
}

/* The report comes from the container and is hostile. */
static void read_report(struct install *i, const struct run_result *r)
{
	AUTO(fail_release) struct fail f = { 0 };
	i->versions = deps_read_report(&r->result, i->wanted, &i->size);
	if (i->versions) {
		end(i);
		return;
	}
	fail_set(&f, FAIL_INSTALL, "the installer did not report what it has installed");
	end_failed(i, &f);
}

/* --- the run ----------------------------------------------------------------------------------------------------- */

static struct install *install_of(struct run_waiter *w)
{
	return container_of(w, struct install, waiter);
}

static void on_output(struct run_waiter *w, int stream, const void *data, size_t n)
{
	take_output(install_of(w), stream - 1, data, n);
}

static void on_tail(struct run_waiter *w, int stream, const void *data, size_t n)
{
	take_tail(install_of(w), stream - 1, data, n);
}

static void on_replay(struct run_waiter *w, size_t displays UNUSED)
{
	struct install *i = install_of(w);
	buf_reset(&i->partial[0]);
	buf_reset(&i->partial[1]);
	buf_reset(&i->last);
}

static void on_end(struct run_waiter *w, struct run_result *result, const struct fail *f)
{
	struct install *i = install_of(w);
	if (!result)
		end_failed(i, f);
	else if (result->ending == ENDING_OK)
		read_report(i, result);
	else
		failed_install(i, result);
}

static void begin(struct install *i)
{
	AUTO(fail_release) struct fail f = { 0 };
	i->waiter = (struct run_waiter){
		.on_output = on_output, .on_tail = on_tail, .on_replay = on_replay, .on_end = on_end
	};
	struct wire_install install = {
		.packages = i->wanted,
		.env = &i->env,
		.direct = i->gate ? install_gate_direct(i->gate) : NULL,
		.timeout_ms = i->config->dependency_timeout * 1000,
		.size_limit = i->config->dependency_max_size,
	};
	struct run_spec spec = { .kind = RUN_INSTALL,
				 .timeout_seconds = i->config->dependency_timeout,
				 .wait_ms = RUN_WAIT_FOR_END,
				 .install = &install };
	if (!run_start(line_dispatch(i->line), &spec, &i->waiter, &f))
		end_failed(i, &f);
}

/* --- the line ---------------------------------------------------------------------------------------------------- */

static void on_hello(void *ctx, const struct wire_hello *hello)
{
	struct install *i = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (!i->logins->n || hello->standing)
		return;
	cause_set(&f, FAIL_INSTALL, CAUSE_OLD_SESSION,
		  "the dependencies could not be installed: an older Husk has prepared the image, which cannot use a "
		  "package index with a login");
	fail_hint(&f,
		  "The person who runs Husk can prepare the image again with this version; no session was created.");
	end_failed(i, &f);
}

static void on_event(void *ctx, const struct wire_event *event)
{
}

static void on_broken(void *ctx, const struct fail *f)
{
	struct install *i = ctx;
	if (i->ended)
		return;
	if (cause_of(f) == CAUSE_PROTOCOL) {
		end_failed(i, f);
		return;
	}
	if (line_failures(i->line) < RETRIES) {
		line_retry(i->line);
		return;
	}
	AUTO(fail_release) struct fail why = { 0 };
	cause_set(&why, FAIL_INSTALL, CAUSE_INSTALL_LOST,
		  "the dependencies could not be installed: the install container was lost (%s)", f->message);
	fail_hint(&why, "Try again; no session was created.");
	end_failed(i, &why);
}

static void on_deadline(void *ctx)
{
	struct install *i = ctx;
	failed_install(i, &(struct run_result){ .ending = ENDING_TIMEOUT });
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static void on_created(void *ctx, const struct engine_created *created UNUSED, const struct fail *f)
{
	struct install *i = ctx;
	i->task = NULL;
	if (f) {
		end_failed(i, f);
		return;
	}
	line_open(i->line);
	begin(i);
}

static void start_container(struct install *i)
{
	const struct config *c = i->config;
	struct container_spec container = {
		.name = i->container,
		.image = i->image,
		.store = i->store,
		.owner = i->owner,
		.memory = c->memory_limit,
		.cpu_quota = c->cpu_quota,
		.pids = c->pids_limit,
		.tmpfs = c->tmpfs_size,
		.quota = 2 * c->dependency_max_size, /* limit of /tmp; PID 1 limits the packages themselves */
		.disk_floor = c->disk_floor,
		.lease = LEASE_SECONDS,
		.network = !c->network_allow,
		.gated = i->gate,
		.hosts = i->gate ? install_gate_hosts(i->gate) : NULL,
		.keep_proxies = c->proxy_enabled,
		.ca_bundle = c->ca_bundle,
		.runtime = c->runtime,
		.install = true,
	};
	i->task = i->engine->ops->create(i->engine, &container, on_created, i);
}

static void on_gate_ready(void *ctx, const struct fail *f)
{
	struct install *i = ctx;
	if (f)
		end_failed(i, f);
	else
		start_container(i);
}

static void open_line(struct install *i)
{
	i->line = line_new(&(struct line_spec){
		.loop = i->loop,
		.config = i->config,
		.transport = transport_exec_new(i->engine, i->container),
		.container = i->container,
		.epoch = 1,
		.lease_ms = LEASE_SECONDS * 1000,
		.handler = { .on_hello = on_hello, .on_event = on_event, .on_broken = on_broken, .ctx = i },
	});
}

/* Installers may need to know which indexes they cannot judge by their settings alone. */
static void name_logins(struct install *i)
{
	AUTO(strv_release) struct strv origins = { 0 };
	AUTO(buf_release) struct buf list = { 0 };
	install_gate_origins(i->gate, &origins);
	for (size_t k = 0; k < origins.n; k++)
		buf_printf(&list, "%s%s", k ? " " : "", origins.v[k]);
	if (list.len)
		strv_addf(&i->env, "HUSK_LOGIN_INDEXES=%s", buf_str(&list));
}

/* The gate needs the line, and the claim the gate's authority. */
static int open_gate(struct install *i, struct fail *f)
{
	i->gate = install_gate_new(&(struct install_gate_spec){ .loop = i->loop,
								.config = i->config,
								.container = i->container,
								.dispatch = line_dispatch(i->line),
								.env = &i->env,
								.logins = i->logins,
								.on_ready = on_gate_ready,
								.ctx = i },
				   f);
	if (f->kind)
		return -1;
	if (i->gate)
		name_logins(i);
	return 0;
}

struct install *install_start(const struct install_spec *spec)
{
	struct install *i = new0(struct install);
	uint64_t timeout = spec->config->dependency_timeout;
	token_make_container(i->container);
	i->loop = spec->loop;
	i->engine = spec->engine;
	i->config = spec->config;
	i->image = spec->image;
	i->store = spec->store;
	i->owner = spec->owner;
	i->spec = (struct install_spec){ .on_output = spec->on_output, .on_done = spec->on_done, .ctx = spec->ctx };
	i->wanted = xstrdup(spec->wanted);
	i->logins = secret_set_new();
	deps_secrets(&i->secrets, spec->sources);
	i->tell = timer_new(i->loop, on_tell, i);
	i->deadline = timer_new(i->loop, on_deadline, i);
	timer_start(i->deadline, timeout * 1000 + GRACE_MS, 0);
	AUTO(fail_release) struct fail f = { 0 };
	if (logins_take(i->logins, &i->env, spec->sources, &f) < 0) {
		end_failed(i, &f);
		return i;
	}
	open_line(i);
	if (open_gate(i, &f) < 0) {
		end_failed(i, &f);
		return i;
	}
	line_claim(i->line, &(struct wire_claim){ .session = "",
						  .lease_seconds = LEASE_SECONDS,
						  .lifetime_seconds = timeout + 2 * GRACE_MS / 1000 + BAKE_SECONDS,
						  .authority = install_gate_authority(i->gate) });
	if (!i->gate)
		start_container(i);
	return i;
}

const char *install_container(const struct install *i)
{
	return i->container;
}

struct install *install_free(struct install *i)
{
	if (!i)
		return NULL;
	/* A create in progress cleans up after itself. Without a line, there is no container. */
	if (i->task)
		i->engine->ops->task_cancel(i->task);
	else if (i->line)
		i->engine->ops->remove(i->engine, &(struct container_ref){ .name = i->container }, /* done= */ NULL,
				       NULL);
	run_abandon(&i->waiter);
	install_gate_free(i->gate);
	line_free(i->line);
	timer_free(i->deadline);
	timer_free(i->tell);
	buf_release(&i->partial[0]);
	buf_release(&i->partial[1]);
	buf_release(&i->last);
	strv_release(&i->env);
	secret_set_unref(i->logins);
	strv_release(&i->secrets);
	fail_release(&i->failure);
	free(i->versions);
	free(i->wanted);
	free(i);
	return NULL;
}
