#include "kernels/gate/gate.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "kernels/system/clock.h"

/* Connections that are accepted before other work gets its turn. */
#define ACCEPTS_A_TURN 8
#define PAUSE_MS 20
/* Denials are collected for this long, except the first. */
#define REPORT_MS 50

/* --- denials ----------------------------------------------------------------------------------------------------- */

static void on_report_due(struct timeout *t)
{
	gate_report(container_of(t, struct gate, reporting));
}

void gate_report(struct gate *g)
{
	if (!g->n_denials || !g->ruled || sender_full(g->sender))
		return;
	json_auto_t *list = json_array();
	for (size_t i = 0; i < g->n_denials; i++) {
		const struct gate_denial *d = &g->denials[i];
		json_array_append_new(list, json_pack("{s:s, s:i, s:I}", "name", d->name, "port", d->port, "count",
						      (json_int_t)d->count));
	}
	g->n_denials = 0;
	json_auto_t *payload = json_pack("{s:O}", "denied", list);
	(void)sender_json(g->sender, FRAME_GATE_DENIED, 0, payload);
	timeout_start(g->poller, &g->reporting, REPORT_MS, on_report_due);
}

static void deny(struct gate *g, const char *name, uint16_t port)
{
	size_t i = 0;
	while (i < g->n_denials && (g->denials[i].port != port || !streq(g->denials[i].name, name)))
		i++;
	/* The last place is for everything that has no other. */
	if (i >= GATE_DENIED_MAX)
		i = GATE_DENIED_MAX - 1;
	if (i == g->n_denials) {
		g->denials[i] = (struct gate_denial){ .port = port };
		snprintf(g->denials[i].name, sizeof(g->denials[i].name), "%s", name);
		g->n_denials++;
	}
	g->denials[i].count++;
	if (!timeout_active(&g->reporting))
		gate_report(g);
}

static void on_asked(struct refusals *all, const char *name, uint16_t port)
{
	deny(container_of(all, struct gate, refusals), name, port);
}

/* --- names ------------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);
	return n >= m && streq(name + n - m, end) && (n == m || name[n - m - 1] == '.');
}

static uint32_t on_name(struct resolver *r, const char *name, bool wanted, bool *ret_exists)
{
	struct gate *g = container_of(r, struct gate, resolver);
	uint16_t ports[NAME_PORTS_MAX];
	*ret_exists = !ends_with(name, "arpa");
	if (!*ret_exists || !wanted)
		return 0;
	if (ends_with(name, "localhost"))
		return 0x7f000001;
	size_t n = names_ports(&g->names, name, ports);
	if (n)
		return hosts_address(&g->hosts, name, ports, n);
	deny(g, name, 0);
	return GATE_COMMON_ADDRESS;
}

/* --- connections ------------------------------------------------------------------------------------------------- */

static void on_connections(struct watch *w, short revents);

static void on_pause_over(struct timeout *t)
{
	struct gate *g = container_of(t, struct gate, pause);
	if (g->ruled)
		watch_start(g->poller, &g->accepting, g->hosts.epoll_fd, POLLIN, on_connections);
}

static bool take_token(struct gate *g)
{
	uint64_t now = clock_now_ms(), more = (now - g->tokens_ms) * GATE_NEW_A_SECOND / 1000;
	if (more) {
		g->tokens = (unsigned)MIN(g->tokens + more, (uint64_t)GATE_NEW_A_SECOND);
		g->tokens_ms = now;
	}
	if (!g->tokens)
		return false;
	g->tokens--;
	return true;
}

static void accept_one(struct gate *g, const struct listener *l)
{
	int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	if (*l->host->name)
		streams_offer(g->streams, fd, l->host->name, l->port);
	else
		refusals_take(&g->refusals, fd, "", l->port, "denied");
}

/* Connections beyond the limits wait in the queues of their sockets. */
static void on_connections(struct watch *w, short revents UNUSED)
{
	struct gate *g = container_of(w, struct gate, accepting);
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		struct listener *l = hosts_ready(&g->hosts);
		if (!l)
			return;
		if (g->streams->n_offered >= GATE_CONNECTIONS_MAX || sender_full(g->sender) || !take_token(g)) {
			watch_stop(w);
			timeout_start(g->poller, &g->pause, PAUSE_MS, on_pause_over);
			return;
		}
		accept_one(g, l);
	}
}

/* The manager has refused a connection before there was one. */
static void on_refused(struct streams *all, int fd, const char *name, uint16_t port, const char *cause)
{
	struct gate *g = all->gate;
	refusals_take(&g->refusals, fd, name, port, cause);
}

/* --- rules ------------------------------------------------------------------------------------------------------- */

int gate_frame(struct gate *g, const struct frame *frame)
{
	if (names_read(&g->names, frame->payload, frame->header.length) < 0)
		return -EPROTO;
	g->hint = g->names.hint;
	/* Without DNS or listeners nothing is reached, which is safe; the next rules try again. */
	int error = hosts_open(&g->hosts);
	int dns = resolver_open(&g->resolver);
	if (error || dns)
		fprintf(stderr, "husk-client: the gate cannot listen: %s\n", strerror(error ? -error : -dns));
	hosts_apply(&g->hosts, &g->names);
	g->ruled = true;
	timeout_stop(&g->pause);
	if (g->hosts.epoll_fd >= 0)
		watch_start(g->poller, &g->accepting, g->hosts.epoll_fd, POLLIN, on_connections);
	return 0;
}

void gate_orphan(struct gate *g)
{
	g->ruled = false;
	watch_stop(&g->accepting);
	timeout_stop(&g->pause);
}

void gate_init(struct gate *g, struct poller *p, struct sender *sender, struct streams *streams)
{
	*g = (struct gate){ .poller = p,
			    .sender = sender,
			    .streams = streams,
			    .resolver.on_name = on_name,
			    .refusals = { .hint = &g->hint, .on_asked = on_asked },
			    .tokens = GATE_NEW_A_SECOND,
			    .tokens_ms = clock_now_ms() };
	resolver_init(&g->resolver, p);
	hosts_init(&g->hosts);
	refusals_init(&g->refusals, p);
	streams->gate = g;
	streams->on_refused = on_refused;
}
