/* One GET or HEAD over HTTP or HTTPS at a time, any number side by side: libcurl on our loop. The library is loaded when the first
 * request is made, so a program that never makes one pays nothing for it. No redirect is followed, no cookie kept, no file of
 * the user's read: the caller decides where a request goes and what it carries. */
#ifndef HUSK_BASE_FETCH_H
#define HUSK_BASE_FETCH_H

#include "base/fail.h"
#include "base/loop.h"
#include "base/strv.h"

struct fetcher; /* connections that requests share */
struct fetch;	/* a request */

struct fetch_head {
	int status;
	int64_t length;		   /* of the body as it comes; -1 = not said */
	const char *location;	   /* absolute; NULL = no redirect. No data comes with one */
	const struct strv *fields; /* "name: value", names in lower case */
	bool decoded;		   /* the body comes without its encoding */
	bool is_public;		   /* it did not come from a private address, as far as is known: a proxy hides it */
};

struct fetch_spec {
	const char *url;
	bool head;
	const char *user, *password; /* NULL = none */
	const struct strv *fields;   /* "Name: value" */
	bool compressed;	     /* ask for an encoding, and decode it */
	const char *ca_file;	     /* NULL = the library's own */
	bool no_local;	  /* never an address of this machine's loopback or link, such as a cloud's metadata */
	bool only_public; /* nor a private one, nor one of this machine's own. Not checked behind a proxy */
	/* In this order, the first and the last once; on_head does not come if nothing was answered. Never from inside a call of
	 * these functions. */
	void (*on_head)(void *ctx, const struct fetch_head *head);
	void (*on_data)(void *ctx, const void *data, size_t n);
	void (*on_end)(void *ctx, const char *error); /* NULL = all is there */
	void *ctx;
};

/* NULL with f if the library is not there. */
struct fetcher *fetcher_new(struct loop *loop, struct fail *f);
/* Its requests must be freed before. Accepts NULL, returns NULL. */
struct fetcher *fetcher_free(struct fetcher *r);

/* NULL with f if the request makes no sense. */
struct fetch *fetch_new(struct fetcher *r, const struct fetch_spec *spec, struct fail *f);
/* Ends it without a callback; from inside one too. Accepts NULL, returns NULL. */
struct fetch *fetch_free(struct fetch *t);
/* No more data until it goes on; what is being delivered now still comes. */
void fetch_pause(struct fetch *t, bool paused);

/* Not loopback, link-local, private, multicast, and not an address of this machine. */
struct sockaddr;
bool fetch_is_public(const struct sockaddr *sa);

/* Whether this process has loaded the library: it must not before it has to. */
bool fetch_is_loaded(void);

#endif
