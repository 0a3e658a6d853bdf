#include "tests/unit/attach-bench.h"

#include <signal.h>

#include "api/sockets.h"
#include "base/alloc.h"
#include "tests/unit/unit.h"

struct bench b;
struct fake *fake;
struct conversation *conversation;
struct local_server *server;
struct attach *attach;
char *session;
struct got got, other;
struct fail lost;
static struct manager *manager;

void forget(struct got *g)
{
	fail_release(&g->fail);
	free(g->text);
	free(g->mime);
	free(g->id);
	free(g->detail);
	buf_release(&g->live[0]);
	buf_release(&g->live[1]);
	memset(g, 0, sizeof(*g));
}

void open_server(void)
{
	manager = manager_new(b.loop, &b.config);
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "t" });
	server = local_server_new(
		&(struct api_spec){
			.loop = b.loop, .config = &b.config, .manager = manager, .conversation = conversation },
		/* api= */ NULL);
}

void close_server(void)
{
	manager = manager_free(manager);
	server = local_server_free(server, /* manager_gone= */ true);
}

void on_lost(void *ctx UNUSED, const struct fail *f)
{
	fail_copy(&lost, f);
}

struct attach *connect_client(void)
{
	struct attach *a = attach_new(&(struct attach_spec){ .loop = b.loop, .server = server, .fd = -1 });
	attach_watch(a, session, on_lost, NULL);
	return a;
}

void on_created(void *ctx, const struct create_result *result, const struct fail *f)
{
	struct got *g = ctx;
	g->done = true;
	g->n = result->n_active;
	if (f)
		fail_copy(&g->fail, f);
	else
		g->id = xstrdup(result->session->id);
}

char *create(void)
{
	struct create_request request = { .runtime = runtime_find("python"), .on_done = on_created, .ctx = &got };
	forget(&got);
	assert_non_null(manager_create(conversation, &request, &got.fail));
	FAKE_UNTIL(fake, got.done);
	return take_ptr(got.id);
}

void do_nothing(struct fake_container *c UNUSED, struct fake_call *call UNUSED)
{
}

int attach_bench_begin(void **state)
{
	signal(SIGPIPE, SIG_IGN);
	fake = manager_bench_begin(&b);
	manager_bench_load(&b);
	open_server();
	session = create();
	attach = connect_client();
	return 0;
}

int attach_bench_end(void **state)
{
	attach = attach_free(attach);
	close_server();
	forget(&got);
	forget(&other);
	fail_release(&lost);
	free(take_ptr(session));
	manager_bench_end(&b, fake);
	return 0;
}

static void on_output(void *ctx, int stream, const char *text, size_t n)
{
	struct got *g = ctx;
	buf_add(&g->live[stream - 1], text, n);
}

void on_ran(void *ctx, const struct run_result *result, const struct fail *f)
{
	struct got *g = ctx;
	assert_false(g->done);
	g->done = true;
	if (f)
		fail_copy(&g->fail, f);
	if (!result)
		return;
	g->ending = result->ending;
	g->run = result->run;
	g->cause = result->cause;
	g->detail = result->detail ? xstrdup(result->detail) : NULL;
	g->earlier = result->n_earlier;
	g->parts = result->n_parts;
	g->displays = result->n_displays;
	g->text = xstrdup(result->stdout_text);
	if (result->n_displays)
		g->mime = xasprintf("%s %s", result->displays[0].parts[0].type, result->displays[0].parts[0].data);
}

struct run_request a_run(struct got *g, const char *text)
{
	forget(g);
	return (struct run_request){ .kind = RUN_CODE,
				     .session_id = session,
				     .text = text,
				     .len = strlen(text),
				     .timeout_seconds = 60,
				     .on_output = on_output,
				     .on_done = on_ran,
				     .ctx = g };
}

struct attach_call *run(struct attach *a, struct got *g, const char *text)
{
	struct run_request request = a_run(g, text);
	return attach_run(a, &request, &g->fail);
}

size_t count_sockets(char *ret_name, size_t size)
{
	AUTO(strv_release) struct strv v = { 0 };
	sockets_list(&b.config, &v);
	if (v.n && ret_name)
		snprintf(ret_name, size, "%s", v.v[0]);
	return v.n;
}
