#include "api/peers.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

#include "api/host.h"
#include "api/links.h"
#include "base/alloc.h"
#include "base/parse.h"

/* Clocks of servers may differ by this. */
#define SKEW_SECONDS 60
#define NONCE_CHARS "0123456789abcdef"

static const char *value_of(const struct http_fields *fields, const char *name)
{
	const char *value = http_fields_get(fields, name);
	return value ? value : "";
}

/* The signed text. Each part is one line, and values of fields have no line breaks. */
static char *request_text(const struct http_fields *fields, const char *address, const char *method, const char *target,
			  const char *stamp)
{
	return xasprintf("server 1\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s", address, method, target, stamp,
			 value_of(fields, "husk-forwarded"), value_of(fields, "husk-tenant"),
			 value_of(fields, "husk-key"), value_of(fields, "husk-base"));
}

static char *answer_text(const char *nonce, int status)
{
	return xasprintf("server 1 answer\n%s\n%d", nonce, status);
}

static void make_nonce(char nonce[PEERS_NONCE_SIZE])
{
	uint8_t raw[(PEERS_NONCE_SIZE - 1) / 2];
	if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
		abort();
	for (size_t i = 0; i < sizeof(raw); i++)
		snprintf(nonce + 2 * i, 3, "%02x", raw[i]);
}

void peers_sign(const struct exchange *x, struct http_fields *fields, const char *address, const char *method,
		const char *target, char nonce[PEERS_NONCE_SIZE])
{
	char signature[MANAGER_SIGNATURE_SIZE];
	make_nonce(nonce);
	AUTO(freep) char *stamp = xasprintf("%llu %s", (unsigned long long)time(NULL), nonce);
	AUTO(freep) char *text = request_text(fields, address, method, target, stamp);
	manager_sign(x->api->spec.manager, text, signature);
	http_fields_addf(fields, PEERS_FIELD, "%s %s", stamp, signature);
}

/* Splits "TIME NONCE SIGNATURE". */
static bool split(const char *value, char **ret_stamp, char nonce[PEERS_NONCE_SIZE], const char **ret_signature)
{
	const char *first = strchr(value, ' '), *second = first ? strchr(first + 1, ' ') : NULL;
	if (!second || second - first != PEERS_NONCE_SIZE || strspn(first + 1, NONCE_CHARS) != PEERS_NONCE_SIZE - 1)
		return false;
	memcpy(nonce, first + 1, PEERS_NONCE_SIZE - 1);
	nonce[PEERS_NONCE_SIZE - 1] = '\0';
	*ret_stamp = xstrndup(value, (size_t)(second - value));
	*ret_signature = second + 1;
	return true;
}

static bool is_recent(const char *stamp)
{
	uint64_t at, now = (uint64_t)time(NULL);
	AUTO(freep) char *digits = xstrndup(stamp, strcspn(stamp, " "));
	return parse_u64(digits, &at) == 0 && at + SKEW_SECONDS >= now && at <= now + SKEW_SECONDS;
}

static void prove(const struct exchange *x, int status, struct http_fields *fields)
{
	char signature[MANAGER_SIGNATURE_SIZE];
	AUTO(freep) char *text = answer_text(x->peer_nonce, status);
	manager_sign(x->api->spec.manager, text, signature);
	http_fields_add(fields, PEERS_FIELD, signature);
}

static bool is_genuine(struct exchange *x)
{
	const struct http_head *head = http_request_head(x->request);
	const char *own = x->api->spec.config->advertise, *signature = NULL;
	AUTO(freep) char *stamp = NULL;
	char nonce[PEERS_NONCE_SIZE];
	if (!own || !split(exchange_field(x, "husk-server"), &stamp, nonce, &signature) || !is_recent(stamp))
		return false;
	AUTO(freep) char *text =
		request_text(&head->fields, own, head->method_name, (const char *)head->target.data, stamp);
	if (!manager_is_signed(x->api->spec.manager, text, signature))
		return false;
	memcpy(x->peer_nonce, nonce, sizeof(x->peer_nonce));
	x->prove = prove;
	return true;
}

static void check(struct exchange *x)
{
	if (!is_genuine(x)) {
		exchange_problem(x, 401, "The proof of the other server is not valid.",
				 "Servers that share a store need the same ENCRYPTION_KEY, clocks that agree, and "
				 "HUSK_ADVERTISE with the address that others use.");
		return;
	}
	const char *tenant = exchange_field(x, "husk-tenant"), *key = exchange_field(x, "husk-key");
	caller_release(&x->caller);
	x->caller = (struct caller){ .tenant = xstrdup(tenant ? tenant : ""),
				     .key = key ? xstrdup(key) : NULL,
				     .scopes = SCOPES_ALL,
				     .forwarded = true,
				     .remote = true };
	x->after_link(x);
}

void peers_check(struct exchange *x, void (*next)(struct exchange *x))
{
	x->after_link = next;
	links_prepare(x, check);
}

bool peers_is_proven(const struct exchange *x, const struct http_head *head, const char *nonce)
{
	AUTO(freep) char *text = answer_text(nonce, head->status);
	const char *signature = http_fields_get(&head->fields, "husk-server");
	return signature && manager_is_signed(x->api->spec.manager, text, signature);
}
