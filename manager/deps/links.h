/* The links in a page of a package index, as it goes by: those to the index's own origin are turned to the local address under which
 * the installer finds it, and everything that a page links to on that origin is told, since it may be asked for. Bounded
 * memory, whatever the page is. */
#ifndef HUSK_MANAGER_DEPS_LINKS_H
#define HUSK_MANAGER_DEPS_LINKS_H

#include "manager/deps/upstream.h"

enum links_kind {
	LINKS_NONE,
	LINKS_HTML,	   /* href= of a simple page */
	LINKS_SIMPLE_JSON, /* "url" of a simple page */
	LINKS_JSON, /* "tarball" of a registry; these are rewritten, not told: other fields are a package's own words */
};

/* By the page's Content-Type; NULL is fine. */
enum links_kind links_kind_of(const char *content_type);

struct links;

/* page is the target that was asked for. on_link gets decoded paths. The upstream must outlive it. */
struct links *links_new(enum links_kind kind, const struct upstream *upstream, const char *page,
			void (*on_link)(void *ctx, const char *path), void *ctx);
/* Accepts NULL, returns NULL. */
struct links *links_free(struct links *l);
/* What can be passed on goes to the end of out. */
void links_feed(struct links *l, const void *data, size_t n, struct buf *out);
/* The page is over: the rest of it. */
void links_finish(struct links *l, struct buf *out);

#endif
