#include "manager/gate/denials.h"

#include "base/alloc.h"

/* Hosts that a note names. */
#define NAMED_MAX 3
/* Rules that a note names. */
#define REACH_MAX 5

void denials_add(struct denials *d, const char *name, uint16_t port, enum cause cause, uint64_t count)
{
	for (size_t i = 0; i < d->n; i++) {
		struct denial *one = &d->v[i];
		if (streq(one->name, name) && one->port == port && one->cause == cause) {
			one->count += count;
			return;
		}
	}
	if (d->n == DENIALS_MAX) {
		d->others += count;
		return;
	}
	struct denial *one = &d->v[d->n++];
	snprintf(one->name, sizeof(one->name), "%s", name);
	one->port = port;
	one->cause = cause;
	one->count = count;
}

static void put_between(struct buf *out, size_t i, size_t n)
{
	if (i)
		buf_add_str(out, i + 1 == n ? " and " : ", ");
}

void denials_put_reach(struct buf *out, const struct rules *rules)
{
	AUTO(strv_release) struct strv entries = { 0 };
	for (size_t i = 0; i < rules->n; i++)
		if (!rules->v[i].deny && strv_find(&entries, rules->v[i].entry) == SIZE_MAX)
			strv_add(&entries, rules->v[i].entry);
	size_t n = entries.n, shown = n > REACH_MAX + 1 ? REACH_MAX : n;
	for (size_t i = 0; i < shown; i++) {
		/* The address of an endpoint is the operator's business. */
		put_between(out, i, n > shown ? shown + 1 : n);
		buf_printf(out, "%.*s", (int)strcspn(entries.v[i], "="), entries.v[i]);
	}
	if (n > shown)
		buf_printf(out, " and %zu more", n - shown);
	if (!n)
		buf_add_str(out, "no host");
}

static const char *why(enum cause cause)
{
	switch (cause) {
	case CAUSE_GATE_LIMIT:
		return "too many connections at once or in one second";
	case CAUSE_GATE_MISMATCH:
		return "they asked for another host than the one that was dialled, or did not use TLS";
	case CAUSE_GATE_HTTP:
		return "a request was not allowed";
	case CAUSE_GATE_TLS:
		return "their TLS cannot be used with a secret";
	case CAUSE_GATE_UPSTREAM:
		return "the host could not prove who it is";
	case CAUSE_HOST_PRIVATE:
		return "the name belongs to an address that is not public";
	case CAUSE_HOST_NOT_FOUND:
		return "there is no host of this name";
	case CAUSE_HOST_TIMEOUT:
		return "the host did not answer in time";
	default:
		return "the host refused them or cannot be reached";
	}
}

static void put_host(struct buf *out, const struct denial *one)
{
	if (!*one->name)
		buf_add_str(out, "an address that belongs to no allowed name");
	else if (!one->port || one->port == 80 || one->port == 443)
		buf_add_str(out, one->name);
	else
		buf_printf(out, "%s:%u", one->name, one->port);
}

/* A lookup counts as an attempt if no connection of its name was seen: its port was refused without asking the gate. */
static bool is_denied(const struct denials *d, const struct denial *one)
{
	if (one->cause != CAUSE_GATE_DENIED)
		return false;
	for (size_t i = 0; !one->port && i < d->n; i++)
		if (d->v[i].port && d->v[i].cause == CAUSE_GATE_DENIED && streq(d->v[i].name, one->name))
			return false;
	return true;
}

/* Connections that the rules refuse. */
static void put_denied(struct buf *out, const struct denials *d, const struct rules *rules)
{
	uint64_t count = d->others;
	size_t n = 0, shown = 0;
	for (size_t i = 0; i < d->n; i++)
		if (is_denied(d, &d->v[i])) {
			count += d->v[i].count;
			n++;
		}
	if (!count)
		return;
	buf_add_str(out, "The network of this session reaches ");
	denials_put_reach(out, rules);
	buf_printf(out, "; %llu connection%s to ", (unsigned long long)count, count == 1 ? "" : "s");
	for (size_t i = 0; i < d->n && shown < NAMED_MAX; i++)
		if (is_denied(d, &d->v[i])) {
			put_between(out, shown++, n > NAMED_MAX ? NAMED_MAX + 1 : n);
			put_host(out, &d->v[i]);
		}
	if (n > shown)
		buf_add_str(out, " and others");
	if (!n)
		buf_add_str(out, "other hosts");
	buf_printf(out, " %s refused. The operator can allow more: CONTAINER_NETWORK_ALLOW.",
		   count == 1 ? "was" : "were");
}

/* Connections that failed for another reason. */
static void put_failed(struct buf *out, const struct denials *d)
{
	size_t shown = 0;
	for (size_t i = 0; i < d->n && shown < NAMED_MAX; i++) {
		const struct denial *one = &d->v[i];
		if (one->cause == CAUSE_GATE_DENIED)
			continue;
		shown++;
		buf_printf(out, "%s%llu connection%s to ", out->len ? " " : "", (unsigned long long)one->count,
			   one->count == 1 ? "" : "s");
		put_host(out, one);
		buf_printf(out, " failed: %s.", why(one->cause));
	}
}

char *denials_note(const struct denials *d, const struct rules *rules)
{
	AUTO(buf_release) struct buf out = { 0 };
	put_denied(&out, d, rules);
	put_failed(&out, d);
	return out.len ? buf_steal_str(&out) : NULL;
}
