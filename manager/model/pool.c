#include "manager/model/pool.h"

#include "base/alloc.h"

#define ENDPOINT_MAX 300
static const char name_characters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
static const char *const schemes[] = { "context:", "tcp://", "ssh://", "unix:///" };

void pool_hosts_release(struct pool_hosts *h)
{
	strv_release(&h->names);
	strv_release(&h->endpoints);
}

static bool name_is_valid(const char *name)
{
	size_t n = strlen(name);
	return n > 0 && n < POOL_HOST_SIZE && *name != '-' && strspn(name, name_characters) == n;
}

/* A tcp:// address needs a port, since the client would choose one by whether it uses TLS. */
static bool endpoint_is_valid(const char *endpoint)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@[]%+~";
	size_t n = strlen(endpoint);
	if (n > ENDPOINT_MAX || strspn(endpoint, allowed) != n)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		size_t prefix = strlen(schemes[i]);
		if (strncmp(endpoint, schemes[i], prefix) != 0)
			continue;
		const char *rest = endpoint + prefix, *port = strrchr(rest, ':');
		bool numbered = port && port[1] && port[1 + strspn(port + 1, "0123456789")] == '\0';
		return *rest && *rest != '-' && (!streq(schemes[i], "tcp://") || numbered);
	}
	return false;
}

static int add(struct pool_hosts *h, char *text, struct fail *f)
{
	char *equals = strchr(text, '=');
	if (!equals)
		return fail_set(f, FAIL_INVALID, "'%.100s' is not NAME=ENDPOINT", text);
	*equals = '\0';
	const char *endpoint = equals + 1;
	if (!name_is_valid(text))
		return fail_set(
			f, FAIL_INVALID,
			"'%.100s' is not the name of a host: use 1 to %d lower-case letters, digits and hyphens", text,
			POOL_HOST_SIZE - 1);
	if (!endpoint_is_valid(endpoint))
		return fail_set(
			f, FAIL_INVALID,
			"host '%s': '%.100s' is not context:NAME, tcp://HOST:PORT, ssh://[USER@]HOST or unix:///PATH",
			text, endpoint);
	if (strv_find(&h->names, text) != SIZE_MAX)
		return fail_set(f, FAIL_INVALID, "there are two hosts '%s'", text);
	size_t same = strv_find(&h->endpoints, endpoint);
	if (same != SIZE_MAX)
		return fail_set(f, FAIL_INVALID, "the hosts '%s' and '%s' are both %s", h->names.v[same], text,
				endpoint);
	if (h->names.n == POOL_HOSTS_MAX)
		return fail_set(f, FAIL_INVALID, "there are more than %d hosts", POOL_HOSTS_MAX);
	strv_add(&h->names, text);
	strv_add(&h->endpoints, endpoint);
	return 0;
}

int pool_hosts_parse(const char *text, struct pool_hosts *ret, struct fail *f)
{
	AUTO(freep) char *copy = xstrdup(text);
	struct pool_hosts found = { 0 };
	char *rest = copy, *part;
	int r = 0;
	while (r == 0 && (part = strsep(&rest, ","))) {
		part += strspn(part, " \t");
		size_t n = strlen(part);
		while (n && (part[n - 1] == ' ' || part[n - 1] == '\t'))
			part[--n] = '\0';
		r = add(&found, part, f);
	}
	if (r < 0)
		pool_hosts_release(&found);
	else
		*ret = found;
	return r;
}

const char *pool_host_of(const char *container)
{
	const char *dot = strrchr(container, POOL_SEPARATOR);
	return dot && dot[1] ? dot + 1 : NULL;
}
