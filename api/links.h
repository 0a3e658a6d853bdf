/* Signed links: addresses that work without a key until they expire, for browsers and for people who get one from an
 * agent. A link is bound to its path, so it opens nothing else. */
#ifndef HUSK_API_LINKS_H
#define HUSK_API_LINKS_H

#include "api/exchange.h"

#define LINK_SECONDS (24ull * 3600)

/* Parameters of a signed link, for the table of a route with ROUTE_LINK. */
#define LINK_ARGS(type)                                                                                                \
	{ "expires",                                                                                                   \
	  ARG_INT,                                                                                                     \
	  offsetof(type, expires),                                                                                     \
	  .min = 0,                                                                                                    \
	  .max = INT64_MAX,                                                                                            \
	  .description = "When a signed link expires, in seconds since 1970.",                                         \
	  .example = "1800000000" },                                                                                   \
	{                                                                                                              \
		"signature", ARG_STRING, offsetof(type, signature),                                                    \
			.max = 128, .description = "The signature of a signed link.", .example = "\"q1w2…\""         \
	}
struct link_query {
	int64_t expires;
	const char *signature;
};

/* Loads the key of this server, then calls next, now or later; or answers. After that, api_export_link() works. */
void links_prepare(struct exchange *x, void (*next)(struct exchange *x));
/* Like links_prepare(), but calls next even if the key cannot be loaded. */
void links_try(struct exchange *x, void (*next)(struct exchange *x));
/* Checks the link of the request, then calls next, now or later; or answers with 403. The caller of the request then
 * has no tenant, and the scope of the route alone. */
void links_check(struct exchange *x, void (*next)(struct exchange *x));
/* The address of this server as the client wrote it, without a slash at its end; "" on the unix socket. The caller owns
 * it. */
char *links_base(const struct exchange *x);
/* An export as the API shows it. Callers over TCP get a signed link (download_url) instead of the path on the host;
 * links_prepare() comes first. New reference. */
json_t *links_export_json(const struct exchange *x, const struct export_info *info);

#endif
