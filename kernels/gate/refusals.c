#include "kernels/gate/refusals.h"

#include <errno.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/hello.h"

/* Time for a program to say what it wants, and then to read the answer. */
#define PATIENCE_MS 5000
#define LINGER_MS 2000
/* The head of a request, or a hello. */
#define ASKED_MAX (HELLO_MAX + 1024)

struct refusal {
	struct list node;
	struct refusals *all;
	int fd;
	struct watch watch;
	struct timeout patience;
	struct buf asked;
	char name[HOST_NAME_SIZE];
	uint16_t port;
	char cause[16];
	bool answered;
};

void refusals_init(struct refusals *all, struct poller *p)
{
	*all = (struct refusals){ .poller = p, .hint = all->hint, .on_asked = all->on_asked };
	list_init(&all->list);
}

static void refusal_free(struct refusal *r)
{
	watch_stop(&r->watch);
	timeout_stop(&r->patience);
	closep(&r->fd);
	buf_release(&r->asked);
	list_remove(&r->node);
	r->all->n--;
	free(r);
}

static void reset_descriptor(int fd)
{
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 }, sizeof(struct linger));
}

static void reset(struct refusal *r)
{
	reset_descriptor(r->fd);
	refusal_free(r);
}

static void on_patience(struct timeout *t)
{
	reset(container_of(t, struct refusal, patience));
}

/* The answers are shorter than the buffer of a socket that nothing was written to. */
static void answer(struct refusal *r, const void *data, size_t n)
{
	(void)!send(r->fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)shutdown(r->fd, SHUT_WR);
	r->answered = true;
	buf_release(&r->asked);
	timeout_start(r->all->poller, &r->patience, LINGER_MS, on_patience);
}

static const char *sentence(const char *cause)
{
	static const struct {
		const char *cause, *sentence;
	} all[] = { { "denied", "no rule allows it" },
		    { "not_found", "there is no host of this name" },
		    { "refused", "the host refuses the connection or cannot be reached" },
		    { "timeout", "the host did not answer in time" },
		    { "limit", "too many connections were made" },
		    { "mismatch", "the connection cannot be checked" } };
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (streq(all[i].cause, cause))
			return all[i].sentence;
	return "it failed";
}

static const char *status(const char *cause)
{
	return streq(cause, "denied")  ? "403 Forbidden" :
	       streq(cause, "timeout") ? "504 Gateway Timeout" :
	       streq(cause, "limit")   ? "503 Service Unavailable" :
					 "502 Bad Gateway";
}

static void answer_http(struct refusal *r)
{
	AUTO(buf_release) struct buf body = { 0 }, out = { 0 };
	const char *hint = *r->all->hint;
	buf_printf(&body, "The gate of this session refused the connection to %s:%u: %s.%s%s\n",
		   *r->name ? r->name : "an unknown host", r->port, sentence(r->cause),
		   hint && streq(r->cause, "denied") ? " " : "", hint && streq(r->cause, "denied") ? hint : "");
	buf_printf(&out,
		   "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
		   "Connection: close\r\n\r\n%s",
		   status(r->cause), body.len, buf_str(&body));
	answer(r, out.data, out.len);
}

/* Only a refusal by the rules is like a server's own; other failures look as without a gate. */
static void answer_tls(struct refusal *r)
{
	static const uint8_t alert[] = { HELLO_ALERT, 3, 3, 0, 2, 2, 49 /* access_denied */ };
	if (streq(r->cause, "denied"))
		answer(r, alert, sizeof(alert));
	else
		reset(r);
}

static void learn(struct refusal *r, const char *name, size_t n)
{
	if (*r->name || !r->all->on_asked)
		return;
	if (n < sizeof(r->name) && host_name_valid(name, n))
		snprintf(r->name, sizeof(r->name), "%.*s", (int)n, name);
	r->all->on_asked(r->all, r->name, r->port);
}

/* The value of the Host field. */
static void learn_host(struct refusal *r, char *head)
{
	for (char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
		line += 2;
		if (strncasecmp(line, "host:", 5) != 0)
			continue;
		char *host = line + 5 + strspn(line + 5, " \t");
		size_t n = strcspn(host, " \t\r\n:");
		for (size_t i = 0; i < n; i++)
			host[i] = (char)(host[i] >= 'A' && host[i] <= 'Z' ? host[i] + ('a' - 'A') : host[i]);
		learn(r, host, n);
		return;
	}
	learn(r, "", 0);
}

/* True once the hello was answered. */
static bool look_at_tls(struct refusal *r)
{
	AUTO(buf_release) struct buf message = { 0 };
	char name[HELLO_NAME_SIZE] = "";
	int known = 0;
	for (size_t at = 0; at < r->asked.len && known == 0;) {
		enum hello_record type;
		ssize_t size = hello_record(r->asked.data + at, r->asked.len - at, &type);
		if (size == 0)
			return false;
		known = size < 0 || type != HELLO_HANDSHAKE ? -1 :
							      hello_add(&message, r->asked.data + at, (size_t)size);
		if (known == 0)
			known = hello_read(&message, name);
		at += size > 0 ? (size_t)size : 0;
	}
	if (known == 0)
		return false;
	learn(r, known > 0 ? name : "", known > 0 ? strlen(name) : 0);
	answer_tls(r);
	return true;
}

static void look(struct refusal *r)
{
	if (r->asked.data[0] == HELLO_HANDSHAKE) {
		if (!look_at_tls(r) && r->asked.len >= ASKED_MAX)
			reset(r);
		return;
	}
	char *head = (char *)(uintptr_t)buf_str(&r->asked);
	if (!strstr(head, "\r\n\r\n") && r->asked.len < ASKED_MAX)
		return;
	learn_host(r, head);
	if (strstr(head, " HTTP/1."))
		answer_http(r);
	else
		reset(r);
}

static void on_ready(struct watch *w, short revents UNUSED)
{
	struct refusal *r = container_of(w, struct refusal, watch);
	uint8_t data[4096];
	ssize_t n = recv(r->fd, data, sizeof(data), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		refusal_free(r);
		return;
	}
	if (r->answered)
		return;
	(void)buf_add(&r->asked, data, MIN((size_t)n, ASKED_MAX - r->asked.len));
	look(r);
}

void refusals_take(struct refusals *all, int fd, const char *name, uint16_t port, const char *cause)
{
	if (all->n >= REFUSALS_MAX) {
		reset_descriptor(fd);
		close(fd);
		return;
	}
	struct refusal *r = new0(struct refusal);
	*r = (struct refusal){ .all = all, .fd = fd, .port = port };
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->cause, sizeof(r->cause), "%s", cause);
	list_append(&all->list, &r->node);
	all->n++;
	timeout_start(all->poller, &r->patience, PATIENCE_MS, on_patience);
	if (port == 80 || port == 443)
		watch_start(all->poller, &r->watch, fd, POLLIN, on_ready);
	else
		reset(r);
}
