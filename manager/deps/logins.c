#include "manager/deps/logins.h"

#include <arpa/inet.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/percent.h"
#include "manager/deps/set.h"
#include "manager/gate/login.h"
#include "manager/model/cause.h"
#include "manager/model/networks.h"
#include "manager/model/rules.h"

#define BLANKS " \t\r\n"

/* A parsed URL; everything is borrowed from its text. */
struct url {
	const char *login; /* NULL = none */
	size_t login_len;
	const char *rest; /* after the host */
	size_t rest_len;
	bool plain;
};

/* False unless it is an HTTP URL with a login. */
static bool url_split(const char *text, size_t n, struct url *ret)
{
	const char *slashes = memmem(text, n, "://", 3), *end = text + n, *at = NULL;
	size_t scheme = slashes ? (size_t)(slashes - text) : 0;
	bool plain = scheme == 4 && strncasecmp(text, "http", 4) == 0;
	if (!plain && (scheme != 5 || strncasecmp(text, "https", 5) != 0))
		return false;
	const char *login = slashes + 3, *stop = login;
	for (; stop < end && !strchr("/?#", *stop); stop++)
		if (*stop == '@')
			at = stop;
	*ret = (struct url){ .login = login,
			     .login_len = at ? (size_t)(at - login) : 0,
			     .rest = stop,
			     .rest_len = (size_t)(end - stop),
			     .plain = plain };
	return at;
}

static bool is_address(const char *host)
{
	uint8_t address[16];
	return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

/* "name:port"; NULL with f. The caller owns it. */
static char *host_of(const char *setting, const char *url, size_t n, struct fail *f)
{
	struct url_place place;
	char name[RULE_NAME_MAX + 1];
	bool read = networks_read_url(url, n, &place);
	if (read && (is_address(place.host) || strcasecmp(place.host, "localhost") == 0)) {
		cause_set(f, FAIL_INVALID, CAUSE_INSTALL_INDEX,
			  "setting %s: an index with a login needs a host name, and '%s' is not one that installers "
			  "can be led to",
			  setting, place.host);
		fail_hint(f, "The person who runs Husk can give the address a name, in DNS or in /etc/hosts of this "
			     "machine, and use it in the setting.");
		return NULL;
	}
	if (!read || !host_name(name, place.host, strlen(place.host))) {
		cause_set(f, FAIL_INVALID, CAUSE_INSTALL_INDEX, "setting %s: one of its URLs has no valid host",
			  setting);
		return NULL;
	}
	return xasprintf("%s:%s", name, place.port);
}

static struct gate_secret *find(struct secret_set *set, const char *host, bool plain, const char *user,
				const char *password)
{
	for (size_t i = 0; i < set->n; i++) {
		struct gate_secret *s = &set->v[i];
		if (streq(s->hosts.v[0], host) && s->plain == plain && streq(s->basic, user) &&
		    streq(s->value, password))
			return s;
	}
	return NULL;
}

static void wipe(char **secret)
{
	if (*secret)
		explicit_bzero(*secret, strlen(*secret));
	free(*secret);
	*secret = NULL;
}

static int take_url(struct secret_set *set, const char *setting, const char *text, size_t n, const struct url *url,
		    struct fail *f)
{
	const char *colon = memchr(url->login, ':', url->login_len);
	size_t user_len = colon ? (size_t)(colon - url->login) : url->login_len;
	AUTO(wipe) char *user = percent_decode(url->login, user_len);
	AUTO(wipe) char *password = percent_decode(colon ? colon + 1 : "", colon ? url->login_len - user_len - 1 : 0);
	AUTO(freep) char *host = host_of(setting, text, n, f);
	if (!host)
		return -1;
	struct gate_secret *s = find(set, host, url->plain, user, password);
	if (!s && set->n == LOGINS_MAX)
		return fail_set(f, FAIL_INVALID, "setting %s: at most %d package indexes may have a login", setting,
				LOGINS_MAX);
	if (!s) {
		s = secret_set_add(set);
		*s = (struct gate_secret){ .name = xstrdup(setting),
					   .basic = take_ptr(user),
					   .value = take_ptr(password),
					   .plain = url->plain };
		strv_add(&s->hosts, host);
	}
	if (login_add_path(s, url->rest, url->rest_len) < 0)
		return fail_set(f, FAIL_INVALID, "setting %s: the path of one of its URLs is not valid", setting);
	return 0;
}

int logins_take(struct secret_set *ret, struct strv *env, const struct strv *sources, struct fail *f)
{
	for (size_t i = 0; i < sources->n; i++) {
		const char *source = sources->v[i], *text = strchr(source, '=') + 1;
		AUTO(freep) char *name = xstrndup(source, (size_t)(text - 1 - source));
		AUTO(freep) char *open = deps_without_login(text);
		strv_addf(env, "%s=%s", name, open);
		for (size_t n; *text; text += n) {
			struct url url;
			text += strspn(text, BLANKS);
			n = strcspn(text, BLANKS);
			if (url_split(text, n, &url) && take_url(ret, name, text, n, &url, f) < 0)
				return -1;
		}
	}
	return 0;
}

void logins_hosts(const struct secret_set *set, struct strv *ret)
{
	for (size_t i = 0; i < set->n; i++)
		if (strv_find(ret, set->v[i].hosts.v[0]) == SIZE_MAX)
			strv_add(ret, set->v[i].hosts.v[0]);
}
