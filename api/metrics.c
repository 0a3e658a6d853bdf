/* Counters for operators, as Prometheus reads them. */
#include "api/host.h"
#include "api/route.h"
#include "base/alloc.h"
#include "http/server.h"

/* Unknown methods are counted under one name, so that a client cannot make this list grow. */
void api_count_answer(struct api *api, const char *path, enum http_method method, int status)
{
	const char *name = method == HTTP_METHOD_OTHER ? "other" : http_method_text(method);
	for (size_t i = 0; i < api->n_counts; i++) {
		struct request_count *c = &api->counts[i];
		bool same = c->path == path || (c->path && path && streq(c->path, path));
		if (same && c->status == status && c->method == name) {
			c->n++;
			return;
		}
	}
	api->counts = xrealloc(api->counts, (api->n_counts + 1) * sizeof(*api->counts));
	api->counts[api->n_counts++] = (struct request_count){ path, name, status, 1 };
}

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_requests(const struct api *api, struct buf *out)
{
	head(out, "husk_http_requests_total", "counter", "Answers, by route and status.");
	for (size_t i = 0; i < api->n_counts; i++) {
		const struct request_count *c = &api->counts[i];
		buf_printf(out, "husk_http_requests_total{route=\"%s\",method=\"%s\",status=\"%d\"} %llu\n",
			   c->path ? c->path : "unknown", c->method, c->status, (unsigned long long)c->n);
	}
	head(out, "husk_http_connections", "gauge", "Open connections.");
	buf_printf(out, "husk_http_connections %u\n",
		   http_server_connections(api->server) + http_server_connections(api->local_server));
	head(out, "husk_http_streams", "gauge", "Open streams of events and terminals.");
	buf_printf(out, "husk_http_streams %zu\n", api->n_streams);
}

static void get_metrics(struct exchange *x)
{
	AUTO(buf_release) struct buf text = { 0 };
	head(&text, "husk_build_info", "gauge", "The version of this server.");
	buf_printf(&text, "husk_build_info{version=\"%s\"} 1\n", HUSK_VERSION);
	manager_metrics(x->api->spec.manager, &text);
	write_requests(x->api, &text);
	exchange_reply_text(x, 200, NULL, "text/plain; version=0.0.4; charset=utf-8", text.data, text.len);
}

static const struct route_answer answers[] = {
	{ 200, NULL, "text/plain", "The counters and gauges in the text format of Prometheus." }, { 0 }
};

const struct route routes_metrics[] = {
	{ .method = HTTP_METHOD_GET,
	  .path = "/metrics",
	  .scope = SCOPE_METRICS,
	  .name = "getMetrics",
	  .tag = "server",
	  .summary = "Read the counters of this server, for Prometheus",
	  .text = "They start at 0 with the server, and never name a session, a conversation or a tenant.",
	  .answers = answers,
	  .handle = get_metrics },
	{ 0 },
};
