#include "libhusk/open.h"

#include <sys/random.h>

#include "api/local.h"
#include "base/alloc.h"
#include "libhusk/call.h"

/* Time for sessions to end when their manager is closed. */
#define CLOSE_MS 10000
/* Time to finish writing to the store. */
#define SETTLE_MS 1000
#define ID_MAX 128

/* --- opening ------------------------------------------------------------------------------------------------------- */

static void open_manager(void *ctx)
{
	struct husk *h = ctx;
	h->manager = manager_new(thread_loop(), &h->config);
}

struct husk_error *open_on(const struct husk_settings *settings, const char *engine, struct husk **ret)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct husk_settings s = { 0 };
	if (!ret)
		return error_missing("husk_open", "ret");
	struct husk_error *error = HANDLE_TAKE("husk_open", struct husk_settings, settings, &s);
	if (error)
		return error;
	struct husk *h = new0(struct husk);
	list_init(&h->node);
	list_init(&h->conversations);
	list_init(&h->calls);
	struct config_source source = {
		.values = s.values, .environment = s.use_environment, .file = s.use_file || s.file, .env_file = s.file
	};
	if (settings_load_from(&h->config, &source, &f) < 0 || thread_acquire(&f) < 0) {
		handle_free(h);
		return error_of(&f);
	}
	/* A script knows how many sessions it needs, so no warm containers are kept unless the settings ask for them. */
	if (!h->config.warm_pool_text)
		h->config.warm_pool.n = 0;
	h->keep_sessions = s.keep_sessions;
	h->program = xstrdup(s.program && *s.program ? s.program : "husk");
	h->config.helper = h->program;
	if (engine) {
		free(h->config.engine);
		h->config.engine = xstrdup(engine);
	}
	thread_do(open_manager, h);
	handle_add(h);
	*ret = h;
	return NULL;
}

struct husk_error *husk_open(const struct husk_settings *settings, struct husk **ret)
{
	return open_on(settings, /* engine= */ NULL, ret);
}

/* --- closing ------------------------------------------------------------------------------------------------------- */

/* Used on the loop only, except the last three fields. */
struct closing {
	struct task task;
	struct husk *husk;
	struct timer *deadline;
	size_t stopping;
	struct fail fail;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool done;
};

static void end_manager(void *ctx)
{
	struct closing *closing = ctx;
	closing->husk->manager = manager_free(closing->husk->manager);
	list_for_each(c, &closing->husk->conversations, struct husk_conversation, node)
		c->server = local_server_free(c->server, /* manager_gone= */ true);
	timer_free(closing->deadline);
	pthread_mutex_lock(&closing->lock);
	closing->done = true;
	pthread_cond_signal(&closing->changed);
	pthread_mutex_unlock(&closing->lock);
}

static void settle(struct closing *closing)
{
	timer_stop(closing->deadline);
	manager_settle(closing->husk->manager, SETTLE_MS, end_manager, closing);
}

static void on_session_stopped(void *ctx, const struct fail *f)
{
	struct closing *closing = ctx;
	if (f && f->kind != FAIL_NOT_FOUND && f->kind != FAIL_DIED)
		fail_copy(&closing->fail, f);
	if (--closing->stopping == 0)
		settle(closing);
}

static void on_close_deadline(void *ctx)
{
	struct closing *closing = ctx;
	error_set(&closing->fail, FAIL_TIMEOUT, ERROR_DEADLINE,
		  "%zu sessions have not ended within %d s; they were asked to stop", closing->stopping,
		  CLOSE_MS / 1000);
	manager_leave_nothing(closing->husk->manager);
	end_manager(closing);
}

static void stop_made(struct closing *closing, struct husk_conversation *c)
{
	for (size_t i = 0; c->conversation && i < c->made.n; i++) {
		AUTO(fail_release) struct fail f = { 0 };
		struct stop_request request = { .session_id = c->made.v[i],
						.on_done = on_session_stopped,
						.ctx = closing };
		if (manager_stop(c->conversation, &request, &f))
			closing->stopping++;
	}
}

static void close_manager(struct task *task)
{
	struct closing *closing = container_of(task, struct closing, task);
	struct husk *h = closing->husk;
	AUTO(fail_release) struct fail closed = { 0 };
	h->closing = true;
	error_set(&closed, FAIL_CANCELLED, ERROR_CLOSED, "the manager was closed during the call");
	list_for_each(call, &h->calls, struct call, node)
		call_end(call, &closed);
	closing->deadline = timer_new(thread_loop(), on_close_deadline, closing);
	timer_start(closing->deadline, CLOSE_MS, 0);
	/* Conversations are not added or removed any more. The lock is not held, because each stop starts a process,
	 * and fork takes the lock. */
	list_for_each(c, &h->conversations, struct husk_conversation, node)
		if (!h->keep_sessions)
			stop_made(closing, c);
	if (!closing->stopping)
		settle(closing);
}

static void wait_for_close(struct closing *closing)
{
	pthread_mutex_init(&closing->lock, NULL);
	pthread_cond_init(&closing->changed, NULL);
	thread_post(&closing->task);
	pthread_mutex_lock(&closing->lock);
	while (!closing->done)
		pthread_cond_wait(&closing->changed, &closing->lock);
	pthread_mutex_unlock(&closing->lock);
	pthread_cond_destroy(&closing->changed);
	pthread_mutex_destroy(&closing->lock);
}

struct husk_error *husk_close(struct husk *h)
{
	struct husk_error *error = NULL;
	if (!handle_hold(h, "husk_close", &error))
		return error;
	/* Two threads may close the manager at the same time; the second one gets an error. */
	if (!handle_remove(h)) {
		handle_let_go(h);
		return error_misuse("husk_close(): the handle is not open");
	}
	struct closing closing = { .task.fn = close_manager, .husk = h };
	wait_for_close(&closing);
	error = error_of(&closing.fail);
	fail_release(&closing.fail);
	handle_let_go(h);
	return error;
}

/* --- conversations ------------------------------------------------------------------------------------------------- */

struct opening {
	struct husk_conversation *conversation;
	struct conversation_spec spec;
	bool wake, opened;
};

static void open_conversation(void *ctx)
{
	struct opening *opening = ctx;
	struct husk_conversation *c = opening->conversation;
	if (c->husk->closing)
		return;
	opening->opened = true;
	thread_lock();
	c->open = true;
	list_append(&c->husk->conversations, &c->node);
	thread_unlock();
	c->conversation = conversation_open(c->husk->manager, &opening->spec);
	c->server = local_server_new(&(struct api_spec){ .loop = thread_loop(),
							 .config = &c->husk->config,
							 .manager = c->husk->manager,
							 .conversation = c->conversation },
				     /* api= */ NULL);
	if (opening->wake)
		conversation_wake(c->conversation);
}

static struct husk_error *check_id(const char *id)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
	if (n && n <= ID_MAX && !id[n])
		return NULL;
	return error_misuse("husk_conversation_open(): .id must be 1 to %d letters, digits, '.', '_' and '-'", ID_MAX);
}

static char *make_id(void)
{
	uint64_t random[2] = { 0 };
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return NULL;
	return xasprintf("script-%016llx%016llx", (unsigned long long)random[0], (unsigned long long)random[1]);
}

struct husk_error *husk_conversation_open(struct husk *h, const struct husk_conversation_options *options,
					  struct husk_conversation **ret)
{
	static const char function[] = "husk_conversation_open";
	struct husk_conversation_options o = { 0 };
	if (!ret)
		return error_missing(function, "ret");
	struct husk_error *error = HANDLE_TAKE(function, struct husk_conversation_options, options, &o);
	if (!error && o.id)
		error = o.own ? error_misuse("%s(): either .id or .own, not both", function) : check_id(o.id);
	if (error)
		return error;
	AUTO(freep) char *made = o.id || o.own ? NULL : make_id();
	if (!o.id && !o.own && !made)
		return error_misuse("%s(): the system provides no random numbers", function);
	if (!handle_hold(h, function, &error))
		return error;
	struct husk_conversation *c = new0(struct husk_conversation);
	list_init(&c->node);
	c->husk = h;
	struct opening opening = { .conversation = c,
				   .spec = { .id = made ? made : o.id, .max_sessions = o.max_sessions },
				   .wake = !made };
	thread_do(open_conversation, &opening);
	if (opening.opened)
		*ret = c;
	else
		free(c), error = error_misuse("%s(): the handle is not open", function);
	handle_let_go(h);
	return error;
}

static void close_conversation(void *ctx)
{
	struct husk_conversation *c = ctx;
	AUTO(fail_release) struct fail closed = { 0 };
	error_set(&closed, FAIL_CANCELLED, ERROR_CLOSED, "the conversation was closed during the call");
	list_for_each(call, &c->husk->calls, struct call, node)
		if (call->conversation == c)
			call_end(call, &closed);
	if (c->made.n || c->husk->closing)
		return;
	c->server = local_server_free(c->server, /* manager_gone= */ false);
	c->conversation = conversation_close(c->conversation);
}

struct husk_error *husk_conversation_close(struct husk_conversation *c)
{
	struct husk_error *error = NULL;
	struct husk *h = handle_hold_conversation(c, "husk_conversation_close", &error);
	if (!h)
		return error;
	thread_lock();
	bool first = c->open;
	c->open = false;
	thread_unlock();
	if (first)
		thread_do(close_conversation, c);
	handle_let_go(h);
	return first ? NULL : error_misuse("husk_conversation_close(): the handle is not open");
}
