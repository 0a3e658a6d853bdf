#include "base/fetch.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/library.h"
#include "base/list.h"
#include "base/ready.h"

#define CONNECT_SECONDS 30L
/* An answer that makes no progress for this long has timed out, unless it is paused. */
#define SILENT_SECONDS 60L
/* Maximum size of an answer's head. */
#define FIELDS_MAX 100u
#define FIELD_BYTES_MAX 8192u
/* The body of a redirect is discarded, and must not be longer than this. */
#define IGNORED_MAX (256u << 10)

/* ---- the library */

#define FUNCTIONS(X)                                                                                                   \
	X(curl_global_init)                                                                                            \
	X(curl_easy_init)                                                                                              \
	X(curl_easy_setopt)                                                                                            \
	X(curl_easy_getinfo)                                                                                           \
	X(curl_easy_cleanup)                                                                                           \
	X(curl_easy_pause)                                                                                             \
	X(curl_easy_strerror)                                                                                          \
	X(curl_multi_init)                                                                                             \
	X(curl_multi_setopt)                                                                                           \
	X(curl_multi_add_handle)                                                                                       \
	X(curl_multi_remove_handle)                                                                                    \
	X(curl_multi_socket_action)                                                                                    \
	X(curl_multi_assign)                                                                                           \
	X(curl_multi_info_read)                                                                                        \
	X(curl_multi_cleanup)                                                                                          \
	X(curl_slist_append)                                                                                           \
	X(curl_slist_free_all)

/* curl's header defines some of these as macros with checks that do not work on a pointer. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

static struct {
	FUNCTIONS(LIBRARY_POINTER)
} lib;

static bool start_library(void)
{
	return lib.curl_global_init(CURL_GLOBAL_ALL) == CURLE_OK;
}

static struct library libcurl =
	LIBRARY(FUNCTIONS, "libhusk-curl.so.4", "libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib");

static int load(struct fail *f)
{
	libcurl.start = start_library;
	if (library_load(&libcurl))
		return 0;
	fail_set(f, FAIL_ENGINE, "libcurl cannot be loaded (libcurl.so.4)");
	return fail_hint(f, "Install libcurl 4 on the machine that runs Husk.");
}

bool fetch_is_loaded(void)
{
	return libcurl.loaded;
}

/* ---- types */

struct fetcher {
	struct loop *loop;
	CURLM *multi;
	struct timer *timer;
	struct list fetches;
	bool inside; /* inside a call of the library, so nothing may be freed */
};

struct fetch {
	struct list node;
	struct fetcher *fetcher;
	struct fetch_spec spec; /* after the start only flags and callbacks are used */
	CURL *easy;
	struct curl_slist *fields;
	struct timer *resume;
	struct strv answer; /* the head so far */
	size_t answer_bytes;
	size_t ignored;
	bool reported_head, ended, freed, encoded, redirects;
	uint64_t sent; /* bytes of the file */
	unsigned port; /* of the URL */
	char error[CURL_ERROR_SIZE];
};

static void release(struct fetch *t)
{
	list_remove(&t->node);
	lib.curl_multi_remove_handle(t->fetcher->multi, t->easy);
	lib.curl_easy_cleanup(t->easy);
	lib.curl_slist_free_all(t->fields);
	timer_free(t->resume);
	strv_release(&t->answer);
	free(t);
}

struct fetch *fetch_free(struct fetch *t)
{
	if (!t)
		return NULL;
	t->freed = true;
	if (!t->fetcher->inside)
		release(t);
	return NULL;
}

/* ---- addresses */

static unsigned port_of(const struct sockaddr *sa)
{
	return ntohs(sa->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)sa)->sin6_port :
						 ((const struct sockaddr_in *)sa)->sin_port);
}

/* The port in the URL, or the default of its scheme. */
static unsigned url_port(const char *url)
{
	const char *host = strstr(url, "://");
	if (!host)
		return 0;
	host += 3;
	size_t n = strcspn(host, "/?#");
	const char *colon = memrchr(host, ':', n), *bracket = memrchr(host, ']', n);
	if (colon && (!bracket || colon > bracket))
		return (unsigned)strtoul(colon + 1, NULL, 10);
	return strncasecmp(url, "https:", 6) == 0 ? 443 : 80;
}

/* Accepts any spelling of an address that a library would, such as 0x7f.1. */
static bool read_address(const char *text, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
	*ret = (struct sockaddr_storage){ .ss_family = AF_INET6 };
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
		return true;
	ret->ss_family = AF_INET;
	return inet_aton(text, &v4->sin_addr);
}

/* True if the URL's host is an address that is not public. A proxy would connect to it without complaint. */
static bool names_private(const char *url)
{
	const char *host = strstr(url, "://");
	host = host ? host + 3 : url;
	size_t n = strcspn(host, "/?#");
	const char *at = memrchr(host, '@', n);
	n -= at ? (size_t)(at + 1 - host) : 0;
	host = at ? at + 1 : host;
	bool v6 = *host == '[';
	AUTO(freep) char *name = xstrndup(host + v6, strcspn(host + v6, v6 ? "]/?#" : ":/?#"));
	struct sockaddr_storage sa;
	return strcasecmp(name, "localhost") == 0 ||
	       (read_address(name, &sa) && !address_is_public((const struct sockaddr *)&sa));
}

static bool came_from_public(const struct fetch *t)
{
	char *text = NULL;
	long port = 0;
	struct sockaddr_storage sa;
	lib.curl_easy_getinfo(t->easy, CURLINFO_PRIMARY_IP, &text);
	lib.curl_easy_getinfo(t->easy, CURLINFO_PRIMARY_PORT, &port);
	bool direct = port == (long)t->port;
	return !direct || !text || !read_address(text, &sa) || address_is_public((const struct sockaddr *)&sa);
}

/* ---- after a call of the library */

static void tell_head(struct fetch *t)
{
	long status = 0;
	curl_off_t length = -1;
	char *location = NULL;
	t->reported_head = true;
	lib.curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	lib.curl_easy_getinfo(t->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	lib.curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &location);
	t->spec.on_head(t->spec.ctx, &(struct fetch_head){ .status = (int)status,
							   .length = length,
							   .location = location,
							   .fields = &t->answer,
							   .decoded = t->encoded && t->spec.compressed,
							   .is_public = came_from_public(t) });
}

static void tell_ends(struct fetcher *r)
{
	int left;
	for (CURLMsg *m; (m = lib.curl_multi_info_read(r->multi, &left));) {
		if (m->msg != CURLMSG_DONE)
			continue;
		CURLcode code = m->data.result;
		struct fetch *t = NULL;
		lib.curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
		if (t->freed || t->ended)
			continue;
		t->ended = true;
		if (t->redirects && code == CURLE_OK)
			tell_head(t);
		if (t->freed)
			continue;
		const char *why = *t->error ? t->error : lib.curl_easy_strerror(code);
		/* The request may be freed inside the callback; the list of messages stays valid. */
		t->spec.on_end(t->spec.ctx, code == CURLE_OK ? NULL : why);
	}
}

static void leave(struct fetcher *r)
{
	tell_ends(r);
	r->inside = false;
	list_for_each(t, &r->fetches, struct fetch, node)
		if (t->freed)
			release(t);
}

static void act(struct fetcher *r, curl_socket_t fd, int events)
{
	int running;
	r->inside = true;
	lib.curl_multi_socket_action(r->multi, fd, events, &running);
	leave(r);
}

static void on_timer(void *ctx)
{
	act(ctx, CURL_SOCKET_TIMEOUT, 0);
}

/* ---- sockets and timers for the library */

struct socket_watch {
	struct fetcher *fetcher;
	curl_socket_t fd;
	struct ready *ready;
};

static void on_ready(void *ctx, int events)
{
	struct socket_watch *w = ctx;
	act(w->fetcher, w->fd,
	    (events & READY_READ ? CURL_CSELECT_IN : 0) | (events & READY_WRITE ? CURL_CSELECT_OUT : 0));
}

static int on_socket(CURL *easy UNUSED, curl_socket_t fd, int what, void *ctx, void *of_socket)
{
	struct fetcher *r = ctx;
	struct socket_watch *w = of_socket;
	if (what == CURL_POLL_REMOVE) {
		if (w)
			ready_free(w->ready);
		free(w);
		lib.curl_multi_assign(r->multi, fd, NULL);
		return 0;
	}
	if (!w) {
		w = new0(struct socket_watch);
		w->fetcher = r;
		w->fd = fd;
		w->ready = ready_new(r->loop, fd, on_ready, w);
		lib.curl_multi_assign(r->multi, fd, w);
	}
	if (!w->ready)
		return -1;
	ready_watch(w->ready, (what & CURL_POLL_IN ? READY_READ : 0) | (what & CURL_POLL_OUT ? READY_WRITE : 0));
	return 0;
}

static int on_wants_timer(CURLM *multi UNUSED, long ms, void *ctx)
{
	struct fetcher *r = ctx;
	if (ms < 0)
		timer_stop(r->timer);
	else
		timer_start(r->timer, (uint64_t)ms, 0);
	return 0;
}

struct fetcher *fetcher_new(struct loop *loop, struct fail *f)
{
	if (load(f) < 0)
		return NULL;
	struct fetcher *r = new0(struct fetcher);
	r->loop = loop;
	list_init(&r->fetches);
	r->timer = timer_new(loop, on_timer, r);
	r->multi = lib.curl_multi_init();
	lib.curl_multi_setopt(r->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	lib.curl_multi_setopt(r->multi, CURLMOPT_SOCKETDATA, r);
	lib.curl_multi_setopt(r->multi, CURLMOPT_TIMERFUNCTION, on_wants_timer);
	lib.curl_multi_setopt(r->multi, CURLMOPT_TIMERDATA, r);
	return r;
}

struct fetcher *fetcher_free(struct fetcher *r)
{
	if (!r)
		return NULL;
	lib.curl_multi_cleanup(r->multi);
	timer_free(r->timer);
	free(r);
	return NULL;
}

/* ---- an answer */

static bool has_field(const struct fetch *t, const char *name)
{
	for (size_t i = 0; i < t->answer.n; i++)
		if (strncmp(t->answer.v[i], name, strlen(name)) == 0)
			return true;
	return false;
}

/* Called for each line of a head; the last line is empty. An informational answer has a head too. */
static size_t on_field(char *data, size_t size, size_t n, void *ctx)
{
	struct fetch *t = ctx;
	size_t all = size * n, len = all;
	long status = 0;
	while (len && (data[len - 1] == '\n' || data[len - 1] == '\r'))
		len--;
	if (t->freed || t->reported_head)
		return t->freed ? 0 : all; /* trailers */
	if (len == 0) {
		lib.curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
		/* A redirect is reported at its end, since libcurl does not know its target yet. */
		t->redirects = status >= 300 && status < 400 && has_field(t, "location:");
		if (status >= 200 && !t->redirects)
			tell_head(t);
		return t->freed ? 0 : all;
	}
	if (len >= 5 && memcmp(data, "HTTP/", 5) == 0) {
		strv_release(&t->answer);
		t->answer_bytes = 0;
		return all;
	}
	t->answer_bytes += len;
	if (t->answer.n >= FIELDS_MAX || t->answer_bytes > FIELD_BYTES_MAX)
		return all;
	AUTO(freep) char *field = xstrndup(data, len);
	for (char *c = field; *c && *c != ':'; c++)
		*c = (char)tolower((unsigned char)*c);
	t->encoded |= strncmp(field, "content-encoding:", 17) == 0;
	strv_add(&t->answer, field);
	return all;
}

static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
	struct fetch *t = ctx;
	if (t->freed)
		return 0;
	if (t->redirects)
		return (t->ignored += size * n) > IGNORED_MAX ? 0 : size * n;
	t->spec.on_data(t->spec.ctx, data, size * n);
	return t->freed ? 0 : size * n;
}

static size_t on_wants_body(char *to, size_t size, size_t n, void *ctx)
{
	struct fetch *t = ctx;
	ssize_t got = t->freed ? -1 : pread(t->spec.body_fd, to, size * n, (off_t)t->sent);
	if (got < 0)
		return CURL_READFUNC_ABORT;
	t->sent += (uint64_t)got;
	return (size_t)got;
}

/* Checks the address that is actually connected to, since a name may resolve differently each time. A proxy, which the
 * operator chose, is recognized by a port that is not the URL's; it decides for itself where to connect. */
static curl_socket_t on_open(void *ctx, curlsocktype purpose UNUSED, struct curl_sockaddr *a)
{
	const struct fetch *t = ctx;
	bool direct = port_of(&a->addr) == t->port;
	if (direct &&
	    ((t->spec.no_local && address_is_local(&a->addr)) || (t->spec.only_public && !address_is_public(&a->addr))))
		return CURL_SOCKET_BAD;
	return socket(a->family, a->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->protocol);
}

/* ---- a request */

static void on_resume(void *ctx)
{
	struct fetch *t = ctx;
	struct fetcher *r = t->fetcher;
	if (t->ended)
		return;
	r->inside = true;
	lib.curl_easy_pause(t->easy, CURLPAUSE_CONT);
	leave(r);
	/* curl_easy_pause() has delivered the data that arrived during the pause. */
}

void fetch_pause(struct fetch *t, bool paused)
{
	if (t->ended || t->freed)
		return;
	if (!paused) {
		timer_start(t->resume, 0, 0);
		return;
	}
	timer_stop(t->resume);
	lib.curl_easy_pause(t->easy, CURLPAUSE_RECV);
}

#define SET(option, value) (failed |= lib.curl_easy_setopt(t->easy, option, value) != CURLE_OK)

static bool set_body(struct fetch *t, const struct fetch_spec *spec)
{
	bool failed = false;
	if (spec->method)
		SET(CURLOPT_CUSTOMREQUEST, spec->method);
	if (spec->body) {
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(spec->body));
		SET(CURLOPT_COPYPOSTFIELDS, spec->body);
	} else if (spec->body_fd) {
		SET(CURLOPT_UPLOAD, 1L);
		SET(CURLOPT_READFUNCTION, on_wants_body);
		SET(CURLOPT_READDATA, t);
		SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)spec->body_size);
	}
	return !failed;
}

static bool set_options(struct fetch *t, const struct fetch_spec *spec)
{
	bool failed = !set_body(t, spec);
	SET(CURLOPT_URL, spec->url);
	SET(CURLOPT_NOBODY, spec->head ? 1L : 0L);
	SET(CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
	SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	SET(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
	SET(CURLOPT_PATH_AS_IS, 1L);
	SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	SET(CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
	SET(CURLOPT_LOW_SPEED_TIME, SILENT_SECONDS);
	SET(CURLOPT_HTTPHEADER, t->fields);
	SET(CURLOPT_HEADERFUNCTION, on_field);
	SET(CURLOPT_HEADERDATA, t);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, t);
	SET(CURLOPT_OPENSOCKETFUNCTION, on_open);
	SET(CURLOPT_OPENSOCKETDATA, t);
	SET(CURLOPT_ERRORBUFFER, t->error);
	SET(CURLOPT_PRIVATE, t);
	if (spec->compressed)
		SET(CURLOPT_ACCEPT_ENCODING, "gzip");
	if (spec->ca_file)
		SET(CURLOPT_CAINFO, spec->ca_file);
	if (spec->user || spec->password) {
		SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		SET(CURLOPT_USERNAME, spec->user ? spec->user : "");
		SET(CURLOPT_PASSWORD, spec->password ? spec->password : "");
	}
#if LIBCURL_VERSION_NUM >= 0x075700
	/* A cancelled request does not wait for a name lookup. Older libraries do not know this option. */
	(void)lib.curl_easy_setopt(t->easy, CURLOPT_QUICK_EXIT, 1L);
#endif
	return !failed;
}

struct fetch *fetch_new(struct fetcher *r, const struct fetch_spec *spec, struct fail *f)
{
	struct fetch *t = new0(struct fetch);
	t->fetcher = r;
	t->spec = *spec;
	t->port = url_port(spec->url);
	t->easy = lib.curl_easy_init();
	t->resume = timer_new(r->loop, on_resume, t);
	for (size_t i = 0; spec->fields && i < spec->fields->n; i++)
		t->fields = lib.curl_slist_append(t->fields, spec->fields->v[i]);
	list_append(&r->fetches, &t->node);
	if (spec->only_public && names_private(spec->url)) {
		fail_set(f, FAIL_ENGINE, "the address is not public");
		fetch_free(t);
		return NULL;
	}
	if (!set_options(t, spec) || lib.curl_multi_add_handle(r->multi, t->easy) != CURLM_OK) {
		fail_set(f, FAIL_ENGINE, "the request cannot be made with this libcurl");
		fetch_free(t);
		return NULL;
	}
	return t;
}
