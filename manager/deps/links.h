/* Handles the links in a page of a package index while the page passes through. Links to the index's own origin are
 * changed to the local address that the installer uses. Everything that a page links to on that origin is reported,
 * since the installer may request it. Memory is bounded for any page. */
#ifndef HUSK_MANAGER_DEPS_LINKS_H
#define HUSK_MANAGER_DEPS_LINKS_H

#include "manager/deps/upstream.h"

enum links_kind {
	LINKS_NONE,
	LINKS_HTML,	   /* href= in a page of a Python index */
	LINKS_SIMPLE_JSON, /* "url" in a page of a Python index */
	LINKS_JSON, /* "tarball" in a page of an npm registry; not reported, since packages can contain such fields */
};

/* The kind of a page with this Content-Type, which may be NULL. */
enum links_kind links_kind_of(const char *content_type);

struct links;

/* page is the requested target. on_link gets decoded paths. The upstream must outlive the links. */
struct links *links_new(enum links_kind kind, const struct upstream *upstream, const char *page,
			void (*on_link)(void *ctx, const char *path), void *ctx);
/* Accepts NULL, returns NULL. */
struct links *links_free(struct links *l);
/* Appends to out as much of the page as can be passed on. */
void links_feed(struct links *l, const void *data, size_t n, struct buf *out);
/* The page has ended: appends the rest. */
void links_finish(struct links *l, struct buf *out);

#endif
