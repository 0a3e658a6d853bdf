/* Opens the page of the running `husk serve`: asks each server of this user for an address that logs a browser in, and
 * takes the first. */
#include "cli/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <spawn.h>

#include "api/sockets.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/dirs.h"
#include "cli/exit.h"
#include "cli/report.h"
#include "http/client.h"
#include "manager/manager.h"

#define ANSWER_MAX 65536u
#define LIMIT_MS 5000

extern char **environ;

struct search {
	struct loop *loop;
	const struct config *config;
	struct strv paths;
	size_t next;
	struct http_client *client;
	struct http_call *call;
	struct timer *timer; /* the next step, or the time limit of this one */
	int status;
	struct buf body;
	char *url;
};

static int dial(void *ctx)
{
	const struct search *s = ctx;
	return sockets_dial(s->paths.v[s->next - 1]);
}

static void on_head(void *ctx, const struct http_head *head)
{
	struct search *s = ctx;
	s->status = head->status;
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct search *s = ctx;
	(void)buf_add(&s->body, data, n);
}

static void on_end(void *ctx, const char *error)
{
	struct search *s = ctx;
	s->call = NULL;
	json_auto_t *answer = !error && s->status == 201 ? json_loadb(buf_str(&s->body), s->body.len, 0, NULL) : NULL;
	const char *url = json_string_value(json_object_get(answer, "url"));
	s->url = url ? xstrdup(url) : NULL;
	timer_start(s->timer, 0, 0);
}

/* Asks the next server, or ends. */
static void step(void *ctx)
{
	struct search *s = ctx;
	AUTO(fail_release) struct fail never = { 0 };
	s->call = http_call_free(s->call);
	s->client = http_client_free(s->client);
	buf_reset(&s->body);
	if (s->url || s->next == s->paths.n) {
		loop_stop(s->loop, 0);
		return;
	}
	s->next++;
	s->client = http_client_new(&(struct http_client_spec){ .loop = s->loop, .dial = dial, .dial_ctx = s }, &never);
	s->call = http_call_new(s->client, &(struct http_call_spec){ .method = "POST",
								     .target = "/v1/logins",
								     .on_head = on_head,
								     .on_data = on_data,
								     .on_end = on_end,
								     .ctx = s });
	timer_start(s->timer, LIMIT_MS, 0);
}

static char *find_url(const struct config *config)
{
	struct search s = { .config = config, .body.max = ANSWER_MAX };
	s.loop = loop_new();
	/* A server that ends during the request must not end this program. */
	(void)signal(SIGPIPE, SIG_IGN);
	s.timer = timer_new(s.loop, step, &s);
	sockets_list(config, &s.paths);
	timer_start(s.timer, 0, 0);
	loop_run(s.loop);
	timer_free(s.timer);
	loop_free(s.loop);
	strv_release(&s.paths);
	buf_release(&s.body);
	return s.url;
}

/* Other users can read argument lists, so the browser gets a file that only this user can read, with a link to the
 * address. */
static int write_link(const char *path, const char *url)
{
	AUTO(freep) char *text = xasprintf(
		"<!doctype html><meta charset=\"utf-8\"><title>Husk</title><meta http-equiv=\"refresh\" content=\"0;url=%s\">\n",
		url);
	(void)unlink(path);
	AUTO(closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

static bool open_browser(const struct config *config, const char *url)
{
	static const char *const openers[] = { "xdg-open", "open" };
	AUTO(freep) char *folder = xasprintf("%s/serve", config->state_dir);
	AUTO(freep) char *path = xasprintf("%s/open.html", folder);
	if (dirs_make(folder) < 0 || write_link(path, url) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(openers); i++) {
		char *argv[] = { (char *)openers[i], path, NULL };
		pid_t pid;
		if (posix_spawnp(&pid, openers[i], NULL, NULL, argv, environ) == 0)
			return true;
	}
	return false;
}

int ui_run(const struct options *o)
{
	AUTO(config_release) struct config config = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	if (settings_load(&config, o->env_file, &f) < 0)
		return report_refusal(&f, o->verb);
	AUTO(freep) char *url = find_url(&config);
	if (!url) {
		fail_set(&f, FAIL_NOT_FOUND, "no husk serve of this user is running");
		fail_hint(&f, "Start one: husk serve");
		return report_fail(&f);
	}
	if (o->print || !open_browser(&config, url))
		puts(url);
	else
		puts("The page opens in your browser. If it does not: husk ui --print");
	return EXIT_DONE;
}
