#include "api/route.h"

#include "base/alloc.h"

static const struct route *const tables[] = {
	routes_meta,	    routes_sessions,  routes_runs,     routes_outputs,	routes_events,	routes_copies,
	routes_exports,	    routes_queries,   routes_packages, routes_terminal, routes_ports,	routes_keys,
	routes_settings,    routes_health,    routes_reports,  routes_metrics,	routes_threads, routes_uploads,
	routes_files,	    routes_login,     routes_ui,       routes_secrets,	routes_git,	routes_network,
	routes_checkpoints, routes_open_port,
};

const struct route *route_nth(size_t i)
{
	for (size_t t = 0; t < ARRAY_LEN(tables); t++)
		for (const struct route *r = tables[t]; r->path; r++)
			if (i-- == 0)
				return r;
	return NULL;
}

/* Compares the path of a route with the target's segments. */
static bool match_path(const struct route *route, const struct http_target *target, struct route_match *m)
{
	const char *p = route->path;
	size_t i = 0, n_captures = 0;
	while (*p == '/' && p[1]) {
		size_t n = strcspn(++p, "/");
		bool capture = *p == '{';
		if (capture && n > 4 && memcmp(p + n - 4, "...}", 4) == 0) {
			m->rest = i;
			return i < target->n_segments || target->folder;
		}
		if (i >= target->n_segments)
			return false;
		const char *segment = http_target_segment(target, i++);
		if (capture)
			m->captures[n_captures++] = segment;
		else if (strlen(segment) != n || memcmp(segment, p, n) != 0)
			return false;
		p += n;
	}
	return i == target->n_segments && target->folder == (*p == '/');
}

static void add_allowed(struct route_match *m, enum http_method method)
{
	size_t n = strlen(m->allow);
	snprintf(m->allow + n, sizeof(m->allow) - n, "%s%s%s", n ? ", " : "", http_method_text(method),
		 method == HTTP_METHOD_GET ? ", HEAD" : "");
}

bool route_is_idempotent(const struct route *route)
{
	return route->method == HTTP_METHOD_POST && !(route->flags & (ROUTE_OPEN | ROUTE_HIDDEN));
}

struct route_match route_find(enum http_method method, const struct http_target *target)
{
	struct route_match found = { 0 };
	enum http_method wanted = method == HTTP_METHOD_HEAD ? HTTP_METHOD_GET : method;
	const struct route *route;
	for (size_t i = 0; (route = route_nth(i)); i++) {
		struct route_match m = { .path_known = true };
		if (!match_path(route, target, &m))
			continue;
		if (route->method == wanted) {
			m.route = route;
			return m;
		}
		found.path_known = true;
		add_allowed(&found, route->method);
	}
	return found;
}
