/* Requests over HTTP or HTTPS, any number at once: libcurl on our loop. The library is loaded with the first
 * request, so a program that never makes one does not pay for it. No redirect is followed, no cookie is kept and
 * no file of the user is read: the caller decides where a request goes and what it carries. */
#ifndef HUSK_BASE_FETCH_H
#define HUSK_BASE_FETCH_H

#include "base/fail.h"
#include "base/loop.h"
#include "base/strv.h"

struct fetcher; /* connections that requests share */
struct fetch;	/* a request */

struct fetch_head {
	int status;
	int64_t length;		   /* length of the body as sent; -1 = unknown */
	const char *location;	   /* absolute; NULL = not a redirect. A redirect comes without data */
	const struct strv *fields; /* "name: value", names in lower case */
	bool decoded;		   /* the body is delivered decoded */
	bool is_public;		   /* false if it came from a private address; behind a proxy this is not known */
};

struct fetch_spec {
	const char *url;
	bool head;
	const char *method; /* NULL = GET, or HEAD */
	const char *body;   /* text to send; copied. NULL = none */
	/* Or a file to send from its beginning; it must stay open. 0 = none. */
	int body_fd;
	uint64_t body_size;
	const char *user, *password; /* NULL = none */
	const struct strv *fields;   /* "Name: value" */
	bool compressed;	     /* ask for a compressed body and decode it */
	const char *ca_file;	     /* NULL = the library's own */
	bool no_local;	  /* never connect to a loopback or link-local address, such as a cloud's metadata service */
	bool only_public; /* nor to a private address or one of this machine; not checked behind a proxy */
	/* Called in this order: on_head once, on_data any number of times, on_end once. on_head is not called if there
	 * was no answer. None of them is called from inside the functions below. */
	void (*on_head)(void *ctx, const struct fetch_head *head);
	void (*on_data)(void *ctx, const void *data, size_t n);
	void (*on_end)(void *ctx, const char *error); /* NULL = complete */
	void *ctx;
};

/* NULL with f if the library is missing. */
struct fetcher *fetcher_new(struct loop *loop, struct fail *f);
/* Free its requests first. Accepts NULL, returns NULL. */
struct fetcher *fetcher_free(struct fetcher *r);

/* NULL with f if the request is invalid. */
struct fetch *fetch_new(struct fetcher *r, const struct fetch_spec *spec, struct fail *f);
/* Cancels the request without calling on_end; callbacks may call it. Accepts NULL, returns NULL. */
struct fetch *fetch_free(struct fetch *t);
/* Pauses or resumes delivery. Data that is being delivered now still arrives. */
void fetch_pause(struct fetch *t, bool paused);

/* Whether this process has loaded the library, for tests that check lazy loading. */
bool fetch_is_loaded(void);

#endif
