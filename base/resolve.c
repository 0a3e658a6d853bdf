#include "base/resolve.h"

#include <netdb.h>

#include "base/alloc.h"
#include "base/work.h"

struct resolve {
	struct resolve_spec spec;
	struct work *work;
	char *name, port[6];
	struct sockaddr_storage v[RESOLVE_ADDRESSES_MAX];
	size_t n;
	bool temporary;
};

static void look_up(void *ctx)
{
	struct resolve *r = ctx;
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	struct addrinfo *found = NULL;
	int error = getaddrinfo(r->name, r->port, &hints, &found);
	r->temporary = error && error != EAI_NONAME && error != EAI_NODATA && error != EAI_ADDRFAMILY;
	for (const struct addrinfo *a = error ? NULL : found; a && r->n < RESOLVE_ADDRESSES_MAX; a = a->ai_next)
		if (a->ai_addrlen <= sizeof(r->v[0]) && (a->ai_family == AF_INET || a->ai_family == AF_INET6))
			memcpy(&r->v[r->n++], a->ai_addr, a->ai_addrlen);
	if (!error)
		freeaddrinfo(found);
}

static void on_done(void *ctx, bool forgotten)
{
	struct resolve *r = ctx;
	if (!forgotten)
		r->spec.on_done(r->spec.ctx, r->v, r->n, r->temporary);
	free(r->name);
	free(r);
}

struct resolve *resolve_start(struct loop *loop, const struct resolve_spec *spec)
{
	struct resolve *r = new0(struct resolve);
	r->spec = *spec;
	r->name = xstrdup(spec->name);
	snprintf(r->port, sizeof(r->port), "%u", spec->port);
	r->work = work_start(
		loop, &(struct work_spec){
			      .fn = look_up, .on_done = on_done, .ctx = r, .lookup = true, .session = spec->session });
	r->spec.name = r->spec.session = NULL;
	return r;
}

struct resolve *resolve_free(struct resolve *r)
{
	if (r)
		work_forget(r->work);
	return NULL;
}
