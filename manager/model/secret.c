#include "manager/model/secret.h"

#include <ctype.h>

#include "base/parse.h"
#include "manager/model/rules.h"

#define PLACE_MAX 64
#define TLS_PORT 443
#define HTTP_PORT 80

bool secret_name_is_valid(const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < n; i++)
		if (!isalpha((unsigned char)name[i]) && !(i && (isdigit((unsigned char)name[i]) || name[i] == '_')))
			return false;
	return n > 0 && n <= SECRET_NAME_MAX;
}

int secret_host_add(struct buf *list, const char *host, struct fail *f)
{
	char name[RULE_NAME_MAX + 1];
	size_t n = strcspn(host, ":");
	uint64_t port = TLS_PORT;
	if (!host_name(name, host, n)) {
		fail_set(f, FAIL_INVALID, "'%.100s' is not the name of a host", host);
		return fail_hint(
			f, "Use one name, such as api.example.com or api.example.com:8443, without '*' or a path.");
	}
	if (host[n] && (parse_u64(host + n + 1, &port) < 0 || port < 1 || port > UINT16_MAX))
		return fail_set(f, FAIL_INVALID, "'%.100s' does not end with a port", host);
	if (port == HTTP_PORT) {
		fail_set(f, FAIL_INVALID, "'%.100s': a secret is never sent to port 80, where there is no TLS", host);
		return fail_hint(f, "Use a port with TLS.");
	}
	buf_printf(list, "%s%s:%u", list->len ? " " : "", name, (unsigned)port);
	return 0;
}

static bool is_token(const char *text)
{
	size_t n = strlen(text);
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("-_.", text[i]))
			return false;
	return n > 0 && n <= PLACE_MAX;
}

static bool is_user(const char *text)
{
	size_t n = strlen(text);
	for (size_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~' || text[i] == ':')
			return false;
	return n > 0 && n <= PLACE_MAX;
}

static bool is_value(const char *value)
{
	size_t n = strlen(value);
	for (size_t i = 0; i < n; i++)
		if (value[i] < ' ' || value[i] > '~')
			return false;
	return n >= SECRET_VALUE_MIN && n <= SECRET_VALUE_MAX && value[0] != ' ' && value[n - 1] != ' ';
}

int secret_check(const struct secret_info *s, const char *value, struct fail *f)
{
	if (!secret_name_is_valid(s->name)) {
		fail_set(f, FAIL_INVALID, "'%.100s' is not a name for a secret", s->name);
		return fail_hint(f, "Use 1 to %d letters, digits and '_', with a letter first, as for a variable.",
				 SECRET_NAME_MAX);
	}
	if ((s->header && !is_token(s->header)) || (s->query && !is_token(s->query)) ||
	    (s->basic && !is_user(s->basic)))
		return fail_set(f, FAIL_INVALID, "'%.100s' is not the name of a %s",
				s->header && !is_token(s->header) ? s->header :
				s->query && !is_token(s->query)	  ? s->query :
								    s->basic,
				s->header && !is_token(s->header) ? "header" :
				s->query && !is_token(s->query)	  ? "parameter" :
								    "user");
	if (!is_value(value))
		return fail_set(f, FAIL_INVALID,
				"the value of the secret '%s' must have %d to %d printable ASCII characters, without "
				"spaces around them",
				s->name, SECRET_VALUE_MIN, SECRET_VALUE_MAX);
	return 0;
}
