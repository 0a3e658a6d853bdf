#include "api/links.h"

#include <strings.h>
#include <time.h>

#include "api/host.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/parse.h"
#include "http/problem.h"
#include "manager/json/codec.h"

static void prepared(void *ctx, const struct fail *f)
{
	struct exchange *x = ctx;
	if (exchange_resume(x, f))
		x->next(x);
}

void links_prepare(struct exchange *x, void (*next)(struct exchange *x))
{
	AUTO(fail_release) struct fail f = { 0 };
	struct manager *m = x->api->spec.manager;
	if (manager_can_sign(m)) {
		next(x);
		return;
	}
	x->next = next;
	exchange_await(x, manager_prepare_signing(m, &(struct signing_request){ .on_done = prepared, .ctx = x }, &f),
		       &f);
}

static void tried(void *ctx, const struct fail *f UNUSED)
{
	prepared(ctx, NULL);
}

void links_try(struct exchange *x, void (*next)(struct exchange *x))
{
	AUTO(fail_release) struct fail f = { 0 };
	struct manager *m = x->api->spec.manager;
	x->next = next;
	x->op = manager_can_sign(m) ?
			NULL :
			manager_prepare_signing(m, &(struct signing_request){ .on_done = tried, .ctx = x }, &f);
	if (!x->op)
		next(x);
}

/* --- make ---------------------------------------------------------------------------------------------------------- */

/* The Host of a request is one of ours (auth.c). A proxy says in X-Forwarded-Proto whether its clients use TLS. A
 * wrong value only makes a link that does not work. */
char *links_base(const struct exchange *x)
{
	const char *base = x->api->spec.config->api_base_url;
	const struct listener_tag *tag = http_request_tag(x->request);
	const char *host = exchange_field(x, "host"), *proto = exchange_field(x, "x-forwarded-proto");
	if (base && *base)
		return xstrndup(base, strlen(base) - (base[strlen(base) - 1] == '/'));
	const char *forwarded = x->caller.forwarded ? exchange_field(x, "husk-base") : NULL;
	if (forwarded)
		return xstrdup(forwarded);
	if (tag->local || !host)
		return xstrdup("");
	bool tls = (proto && strcasecmp(proto, "https") == 0) || strncmp(tag->origin, "https:", 6) == 0;
	return xasprintf("%s://%s", tls ? "https" : "http", host);
}

char *api_export_link(const struct api *api, const char *base, const char *export_id)
{
	char signature[MANAGER_SIGNATURE_SIZE];
	if (!manager_can_sign(api->spec.manager))
		return NULL;
	AUTO(freep) char *text = xasprintf("/v1/exports/%s/content?expires=%llu", export_id,
					   (unsigned long long)time(NULL) + LINK_SECONDS);
	manager_sign(api->spec.manager, text, signature);
	return xasprintf("%s%s&signature=%s", base, text, signature);
}

/* --- check --------------------------------------------------------------------------------------------------------- */

static char *signed_text(const struct exchange *x, const char *expires)
{
	AUTO(buf_release) struct buf text = { 0 };
	for (size_t i = 0; i < x->target.n_segments; i++)
		buf_printf(&text, "/%s", http_target_segment(&x->target, i));
	buf_printf(&text, "?expires=%s", expires);
	return xstrdup(buf_str(&text));
}

static void refuse(struct exchange *x, const char *cause, const char *detail, const char *hint)
{
	exchange_reply_problem(x, 403, /* fields= */ NULL, http_problem(403, cause, detail, hint));
}

static void check(struct exchange *x)
{
	const char *signature = http_target_parameter(&x->target, "signature");
	const char *expires = http_target_parameter(&x->target, "expires");
	AUTO(freep) char *text = signed_text(x, expires ? expires : "");
	uint64_t until = 0;
	if (!manager_is_signed(x->api->spec.manager, text, signature) || parse_u64(expires, &until) < 0) {
		refuse(x, "bad_link", "The signature of this link is not valid.",
		       "Use the address exactly as it was given.");
	} else if (until < (uint64_t)time(NULL)) {
		refuse(x, "link_expired", "This link has expired.",
		       "Ask for a new one: GET /v1/exports/ID has it in download_url.");
	} else {
		x->caller.scopes = x->route->scope;
		x->after_link(x);
	}
}

void links_check(struct exchange *x, void (*next)(struct exchange *x))
{
	x->after_link = next;
	links_prepare(x, check);
}

json_t *links_export_json(const struct exchange *x, const struct export_info *info)
{
	json_t *out = export_info_encode(info);
	json_object_set_new(out, "conversation", json_text(tenant_inner_id(info->conversation)));
	if (!x->caller.remote)
		return out;
	AUTO(freep) char *base = links_base(x);
	AUTO(freep) char *link = api_export_link(x->api, base, info->id);
	json_object_del(out, "host_path");
	json_object_set_new(out, "download_url", json_text(link));
	return out;
}
