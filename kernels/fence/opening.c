#include "kernels/fence/opening.h"

#include <arpa/inet.h>
#include <errno.h>

#include "base/parse.h"

static const char mark[] = "husk";

static int read_number(const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t number;
	if (parse_u64(text, &number) < 0 || number > max)
		return -EINVAL;
	*ret = number;
	return 0;
}

/* Bits after the prefix have no meaning, and a rule that contains them would never match. */
static void clear_host_bits(struct opening *o)
{
	for (unsigned bit = o->prefix; bit < (o->v6 ? 128u : 32u); bit++)
		o->address[bit / 8] &= (uint8_t) ~(0x80u >> bit % 8);
}

int opening_parse(struct opening *o, const char *text)
{
	char copy[OPENING_TEXT_MAX];
	uint64_t prefix, port = 0;
	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	snprintf(copy, sizeof(copy), "%s", text);
	char *rest = copy, *address = strsep(&rest, "/"), *length = strsep(&rest, ",");
	bool v6 = strchr(address, ':') != NULL;
	uint8_t bytes[16] = { 0 };
	if (!length || inet_pton(v6 ? AF_INET6 : AF_INET, address, bytes) != 1 ||
	    read_number(length, v6 ? 128 : 32, &prefix) < 0)
		return -EINVAL;
	if (rest && (read_number(rest, UINT16_MAX, &port) < 0 || !port))
		return -EINVAL;
	o->v6 = v6;
	memcpy(o->address, bytes, sizeof(bytes));
	o->prefix = (uint8_t)prefix;
	o->port = (uint16_t)port;
	clear_host_bits(o);
	return 0;
}

void opening_write(const struct opening *o, char ret[OPENING_TEXT_MAX])
{
	char address[INET6_ADDRSTRLEN], port[8] = "";
	inet_ntop(o->v6 ? AF_INET6 : AF_INET, o->address, address, sizeof(address));
	if (o->port)
		snprintf(port, sizeof(port), ",%u", (unsigned)o->port);
	snprintf(ret, OPENING_TEXT_MAX, "%s %s %llu %s/%u%s", mark, o->owner, (unsigned long long)o->until, address,
		 (unsigned)o->prefix, port);
}

int opening_read(struct opening *o, const char *text)
{
	char copy[OPENING_TEXT_MAX];
	uint64_t until;
	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	snprintf(copy, sizeof(copy), "%s", text);
	char *rest = copy, *first = strsep(&rest, " "), *owner = strsep(&rest, " "), *when = strsep(&rest, " ");
	if (!rest || !streq(first, mark) || !*owner || strlen(owner) > OWNER_MAX ||
	    read_number(when, UINT64_MAX, &until) < 0 || opening_parse(o, rest) < 0)
		return -EINVAL;
	snprintf(o->owner, sizeof(o->owner), "%s", owner);
	o->until = until;
	return 0;
}

bool opening_same(const struct opening *a, const struct opening *b)
{
	return a->v6 == b->v6 && a->prefix == b->prefix && a->port == b->port &&
	       memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

int openings_add(struct openings *list, const struct opening *o)
{
	for (size_t i = 0; i < list->n; i++) {
		if (!opening_same(&list->v[i], o))
			continue;
		if (o->until > list->v[i].until)
			list->v[i] = *o;
		return 0;
	}
	if (list->n == OPENINGS_MAX)
		return -ENOSPC;
	list->v[list->n++] = *o;
	return 0;
}

/* True if the place is open at least until this time. Then it is not renewed, so that checking an intact fence changes
 * nothing. */
static bool holds(const struct openings *list, const struct opening *o, uint64_t until)
{
	for (size_t i = 0; i < list->n; i++)
		if (opening_same(&list->v[i], o) && list->v[i].until >= until)
			return true;
	return false;
}

int openings_merge(struct openings *ret, const struct openings *old, const struct openings *mine, uint64_t now,
		   uint64_t seconds)
{
	int r = 0;
	ret->n = 0;
	for (size_t i = 0; i < old->n && r == 0; i++)
		if (old->v[i].until > now)
			r = openings_add(ret, &old->v[i]);
	for (size_t i = 0; i < mine->n && r == 0; i++) {
		struct opening o = mine->v[i];
		o.until = now + seconds;
		if (!holds(ret, &o, now + seconds - seconds / 4))
			r = openings_add(ret, &o);
	}
	return r;
}
