#include "manager/model/networks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/parse.h"

int networks_add(struct strv *list, const char *text)
{
	uint8_t address[16];
	uint64_t prefix;
	if (strcasecmp(text, "all") == 0) {
		strv_add_all(list, "0.0.0.0/0", "::/0", NULL);
		return 0;
	}
	const char *slash = strchr(text, '/');
	AUTO(freep) char *host = slash ? xstrndup(text, (size_t)(slash - text)) : xstrdup(text);
	bool v6 = strchr(host, ':') != NULL;
	prefix = v6 ? 128 : 32;
	if (inet_pton(v6 ? AF_INET6 : AF_INET, host, address) != 1)
		return -EINVAL;
	if (slash && (parse_u64(slash + 1, &prefix) < 0 || prefix > (v6 ? 128 : 32)))
		return -EINVAL;
	strv_addf(list, "%s/%u", host, (unsigned)prefix);
	return 0;
}

/* --- URLs -------------------------------------------------------------------------------------------------------- */

static const char *usual_port(const char *url, size_t n)
{
	static const struct {
		const char *scheme, *port;
	} schemes[] = { { "http", "80" },     { "https", "443" },   { "ftp", "21" },	  { "socks", "1080" },
			{ "socks4", "1080" }, { "socks5", "1080" }, { "socks5h", "1080" } };
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (n == strlen(schemes[i].scheme) && strncasecmp(url, schemes[i].scheme, n) == 0)
			return schemes[i].port;
	return NULL;
}

static bool copy_part(char *to, size_t size, const char *from, size_t n)
{
	if (!n || n >= size)
		return false;
	memcpy(to, from, n);
	to[n] = '\0';
	return true;
}

static bool read_port(struct url_place *place, const char *text, size_t n, const char *usual)
{
	uint64_t port;
	if (!n)
		return copy_part(place->port, sizeof(place->port), usual, strlen(usual));
	return copy_part(place->port, sizeof(place->port), text, n) && parse_u64(place->port, &port) == 0 && port > 0 &&
	       port <= UINT16_MAX;
}

bool networks_read_url(const char *url, size_t n, struct url_place *ret)
{
	const char *mark = memmem(url, n, "://", 3);
	const char *usual = mark ? usual_port(url, (size_t)(mark - url)) : NULL;
	if (!usual)
		return false;
	const char *start = mark + 3, *end = url + n;
	size_t length = 0;
	while (start + length < end && !strchr("/?#", start[length]))
		length++;
	const char *login = memrchr(start, '@', length);
	if (login) {
		length -= (size_t)(login + 1 - start);
		start = login + 1;
	}
	const char *close = length && *start == '[' ? memchr(start, ']', length) : NULL;
	const char *colon = memchr(close ? close : start, ':', length - (size_t)(close ? close - start : 0));
	size_t host = colon ? (size_t)(colon - start) : length;
	size_t port = colon ? length - host - 1 : 0;
	if (close)
		return close + 1 == start + host && copy_part(ret->host, sizeof(ret->host), start + 1, host - 2) &&
		       read_port(ret, colon ? colon + 1 : "", port, usual);
	return copy_part(ret->host, sizeof(ret->host), start, host) &&
	       read_port(ret, colon ? colon + 1 : "", port, usual);
}

void networks_resolve(struct strv *list, const struct url_place *place)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *found = NULL;
	if (getaddrinfo(place->host, place->port, &hints, &found) != 0)
		return;
	for (const struct addrinfo *a = found; a; a = a->ai_next) {
		char text[INET6_ADDRSTRLEN] = "";
		if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST) != 0 ||
		    strchr(text, '%'))
			continue;
		strv_addf(list, "%s/%d,%s", text, a->ai_family == AF_INET6 ? 128 : 32, place->port);
	}
	freeaddrinfo(found);
}
