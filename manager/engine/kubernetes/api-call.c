#include "manager/engine/kubernetes/api-call.h"

#include "base/alloc.h"
#include "base/json.h"
#include "manager/model/cause.h"

/* A page of the list of pods has about 12 KiB for each pod. */
#define ANSWER_MAX (16u << 20)

struct api_call {
	struct api_call_spec spec;
	char *method, *target;
	struct buf body, answer;
	struct proxy_wait wait;
	struct http_call *call;
	struct timer *deadline;
	int status;
	bool too_long;
};

struct api_call *api_call_free(struct api_call *c)
{
	if (!c)
		return NULL;
	proxy_forget(&c->wait);
	http_call_free(c->call);
	timer_free(c->deadline);
	buf_release(&c->body);
	buf_release(&c->answer);
	free(c->method);
	free(c->target);
	free(c);
	return NULL;
}

static void end(struct api_call *c, const json_t *answer, const struct fail *f)
{
	timer_stop(c->deadline);
	c->spec.done(c->spec.ctx, c->status, answer, f);
}

static void on_head(void *ctx, const struct http_head *head)
{
	struct api_call *c = ctx;
	c->status = head->status;
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct api_call *c = ctx;
	c->too_long |= buf_add(&c->answer, data, n) < 0;
}

static void on_end(void *ctx, const char *error)
{
	struct api_call *c = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	c->call = NULL;
	json_auto_t *answer = NULL;
	if (error)
		(void)status_no_answer(&f, &c->spec.place, error);
	else if (c->status >= 300)
		(void)status_fail(&f, &c->spec.place, c->status, c->answer.data, c->answer.len);
	else if (c->too_long || !(answer = json_loadb((const char *)c->answer.data, c->answer.len, 0, NULL)))
		(void)status_no_answer(&f, &c->spec.place,
				       c->too_long ? "its answer is too long" : "its answer is not JSON");
	end(c, answer, f.kind ? &f : NULL);
}

static void on_proxy(void *ctx, const struct fail *f)
{
	struct api_call *c = ctx;
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	if (f) {
		c->status = -1;
		end(c, NULL, f);
		return;
	}
	http_fields_add(&fields, "Accept", "application/json");
	if (c->body.len)
		http_fields_add(&fields, "Content-Type", "application/json");
	c->call = http_call_new(proxy_client(c->spec.proxy), &(struct http_call_spec){ .method = c->method,
										       .target = c->target,
										       .fields = &fields,
										       .body = c->body.data,
										       .n = c->body.len,
										       .on_head = on_head,
										       .on_data = on_data,
										       .on_end = on_end,
										       .ctx = c });
}

static void on_deadline(void *ctx)
{
	struct api_call *c = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	c->status = c->call ? 0 : -1;
	c->call = http_call_free(c->call);
	proxy_forget(&c->wait);
	(void)status_silence(&f, &c->spec.place, c->spec.deadline_ms);
	end(c, NULL, &f);
}

struct api_call *api_call_new(const struct api_call_spec *spec)
{
	struct api_call *c = new0(struct api_call);
	c->spec = *spec;
	c->method = xstrdup(spec->method);
	c->target = xstrdup(spec->target);
	c->answer.max = ANSWER_MAX;
	if (spec->body)
		json_print(&c->body, spec->body);
	c->deadline = timer_new(spec->loop, on_deadline, c);
	timer_start(c->deadline, spec->deadline_ms, 0);
	c->wait = (struct proxy_wait){ .fn = on_proxy, .ctx = c };
	proxy_get(spec->proxy, &c->wait);
	return c;
}
