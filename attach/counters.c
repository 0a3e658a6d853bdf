#include "attach/counters.h"

#include <math.h>

#include "api/sockets.h"
#include "base/alloc.h"
#include "base/list.h"
#include "http/client.h"

/* Time limit for all answers. */
#define ASK_MS 5000
#define ANSWER_MAX (1u << 20)
#define SAMPLES_MAX 10000

/* --- samples ------------------------------------------------------------------------------------------------------- */

/* One line, such as `husk_runs{state="queued"} 3`. */
struct sample {
	char *name; /* with its labels */
	double value;
};

/* Samples that share the lines HELP and TYPE. */
struct family {
	struct list node;
	char *name, *help, *type; /* help and type: whole lines */
	struct sample *v;
	size_t n;
};

struct samples {
	struct list families;
	size_t n;
};

struct samples *samples_new(void)
{
	struct samples *s = new0(struct samples);
	list_init(&s->families);
	return s;
}

struct samples *samples_free(struct samples *s)
{
	if (!s)
		return NULL;
	list_for_each(f, &s->families, struct family, node) {
		for (size_t i = 0; i < f->n; i++)
			free(f->v[i].name);
		list_remove(&f->node);
		free(f->name);
		free(f->help);
		free(f->type);
		free(f->v);
		free(f);
	}
	free(s);
	return NULL;
}

static struct family *family_of(struct samples *s, const char *name, size_t n)
{
	list_for_each(f, &s->families, struct family, node)
		if (strlen(f->name) == n && memcmp(f->name, name, n) == 0)
			return f;
	struct family *f = new0(struct family);
	f->name = xstrndup(name, n);
	list_append(&s->families, &f->node);
	return f;
}

static void add_sample(struct samples *s, struct family *f, const char *name, size_t n, double value)
{
	for (size_t i = 0; i < f->n; i++) {
		if (strlen(f->v[i].name) != n || memcmp(f->v[i].name, name, n) != 0)
			continue;
		f->v[i].value += value;
		return;
	}
	if (s->n++ >= SAMPLES_MAX)
		return;
	f->v = xrealloc(f->v, (f->n + 1) * sizeof(*f->v));
	f->v[f->n++] = (struct sample){ xstrndup(name, n), value };
}

/* *family: of the lines that follow. */
static void add_line(struct samples *s, char *line, struct family **family)
{
	static const char help[] = "# HELP ", type[] = "# TYPE ";
	size_t n = sizeof(help) - 1;
	char *space = strrchr(line, ' '), *end;
	if (strncmp(line, help, n) == 0 || strncmp(line, type, n) == 0) {
		*family = family_of(s, line + n, strcspn(line + n, " "));
		char **kept = *line == help[0] && line[2] == help[2] ? &(*family)->help : &(*family)->type;
		if (!*kept)
			*kept = xstrdup(line);
		return;
	}
	double value = space ? strtod(space + 1, &end) : 0;
	if (*family && space && end > space + 1 && !*end && isfinite(value))
		add_sample(s, *family, line, (size_t)(space - line), value);
}

void samples_add(struct samples *s, const char *text)
{
	AUTO(freep) char *copy = xstrdup(text);
	struct family *family = NULL;
	char *state = NULL;
	for (char *line = strtok_r(copy, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		add_line(s, line, &family);
}

void samples_print(const struct samples *s, struct buf *out)
{
	list_for_each(f, (struct list *)&s->families, struct family, node) {
		if (f->help)
			buf_printf(out, "%s\n", f->help);
		if (f->type)
			buf_printf(out, "%s\n", f->type);
		for (size_t i = 0; i < f->n; i++)
			buf_printf(out, "%s %.15g\n", f->v[i].name, f->v[i].value);
	}
}

/* --- servers ------------------------------------------------------------------------------------------------------- */

struct asked {
	struct list node;
	struct counters *counters;
	char *path;
	struct http_client *client;
	struct http_call *call; /* NULL = it has answered */
	int status;
	struct buf body;
};

struct counters {
	struct counters_request request;
	struct list servers; /* of struct asked */
	struct timer *timer;
	struct samples *samples;
	size_t n; /* servers that have answered */
};

struct counters *counters_free(struct counters *c)
{
	if (!c)
		return NULL;
	list_for_each(a, &c->servers, struct asked, node) {
		list_remove(&a->node);
		http_call_free(a->call);
		http_client_free(a->client);
		buf_release(&a->body);
		free(a->path);
		free(a);
	}
	timer_free(c->timer);
	samples_free(c->samples);
	free(c);
	return NULL;
}

static void on_timer(void *ctx)
{
	struct counters *c = ctx;
	AUTO(buf_release) struct buf text = { 0 };
	samples_print(c->samples, &text);
	c->request.on_done(c->request.ctx, buf_str(&text), c->n);
}

static void on_head(void *ctx, const struct http_head *head)
{
	struct asked *a = ctx;
	a->status = head->status;
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct asked *a = ctx;
	(void)buf_add(&a->body, data, n);
}

static void on_end(void *ctx, const char *error)
{
	struct asked *a = ctx;
	struct counters *c = a->counters;
	a->call = NULL;
	if (!error && a->status == 200) {
		c->n++;
		samples_add(c->samples, buf_str(&a->body));
	}
	bool waits = false;
	list_for_each(other, &c->servers, struct asked, node)
		waits |= other->call != NULL;
	if (!waits)
		timer_start(c->timer, 0, 0);
}

static int dial(void *ctx)
{
	const struct asked *a = ctx;
	return sockets_dial(a->path);
}

static void ask(struct counters *c, const char *path)
{
	AUTO(fail_release) struct fail never = { 0 };
	struct asked *a = new0(struct asked);
	a->counters = c;
	a->path = xstrdup(path);
	a->body.max = ANSWER_MAX;
	list_append(&c->servers, &a->node);
	a->client = http_client_new(&(struct http_client_spec){ .loop = c->request.loop, .dial = dial, .dial_ctx = a },
				    &never);
	a->call = http_call_new(a->client, &(struct http_call_spec){ .method = "GET",
								     .target = "/metrics",
								     .on_head = on_head,
								     .on_data = on_data,
								     .on_end = on_end,
								     .ctx = a });
}

struct counters *counters_ask(const struct counters_request *request)
{
	AUTO(strv_release) struct strv paths = { 0 };
	struct counters *c = new0(struct counters);
	c->request = *request;
	c->samples = samples_new();
	list_init(&c->servers);
	sockets_list(request->config, &paths);
	for (size_t i = 0; i < paths.n; i++)
		ask(c, paths.v[i]);
	c->timer = timer_new(request->loop, on_timer, c);
	timer_start(c->timer, paths.n ? ASK_MS : 0, 0);
	return c;
}
