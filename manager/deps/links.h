/* The links in a page of a package index, handled as the page passes through. Links to the index's own origin are
 * changed to the local address that the installer uses. Everything that a page links to on that origin is
 * reported, since the installer may request it. Memory is bounded for any page. */
#ifndef HUSK_MANAGER_DEPS_LINKS_H
#define HUSK_MANAGER_DEPS_LINKS_H

#include "manager/deps/upstream.h"

enum links_kind {
	LINKS_NONE,
	LINKS_HTML,	   /* href= of a simple page */
	LINKS_SIMPLE_JSON, /* "url" of a simple page */
	LINKS_JSON, /* "tarball" of a registry; rewritten but not reported, since other fields are a package's own text */
};

/* By the page's Content-Type; may be NULL. */
enum links_kind links_kind_of(const char *content_type);

struct links;

/* page is the requested target. on_link gets decoded paths. The upstream must outlive it. */
struct links *links_new(enum links_kind kind, const struct upstream *upstream, const char *page,
			void (*on_link)(void *ctx, const char *path), void *ctx);
/* Accepts NULL, returns NULL. */
struct links *links_free(struct links *l);
/* Appends what can be passed on to out. */
void links_feed(struct links *l, const void *data, size_t n, struct buf *out);
/* The page has ended: appends the rest. */
void links_finish(struct links *l, struct buf *out);

#endif
