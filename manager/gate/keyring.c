#include "manager/gate/keyring.h"

#include "base/alloc.h"
#include "base/authority.h"
#include "base/base64.h"
#include "manager/gate/plain.h"
#include "manager/gate/terminate.h"
#include "manager/model/cause.h"
#include "manager/model/token.h"

/* At least as many as the secrets of a session have hosts. */
#define LEAVES_MAX (SESSION_SECRETS_MAX * SECRET_HOSTS_MAX)

/* The certificate for one host. */
struct leaf {
	char *host;
	struct tls_context *context;
};

struct keyring {
	struct authority *authority; /* NULL = nothing is loaded yet */
	struct secret_set *set;
	struct tls_context *upstream;
	struct leaf leaves[LEAVES_MAX];
	size_t n_leaves;
};

struct keyring *keyring_new(void)
{
	return new0(struct keyring);
}

struct keyring *keyring_free(struct keyring *k)
{
	if (!k)
		return NULL;
	for (size_t i = 0; i < k->n_leaves; i++) {
		free(k->leaves[i].host);
		tls_context_free(k->leaves[i].context);
	}
	tls_context_free(k->upstream);
	secret_set_unref(k->set);
	authority_free(k->authority);
	free(k);
	return NULL;
}

char *keyring_placeholder(const char *key, const char *name)
{
	char signature[SIGNATURE_SIZE];
	AUTO(freep) char *purpose = xasprintf("placeholder of %s", name);
	token_sign(signature, key, purpose);
	return xasprintf(SECRET_PLACEHOLDER "%.*s", SECRET_PLACEHOLDER_RANDOM, signature);
}

/* 32 bytes from the 43 characters of a signature. */
static int seed_of(const char *key, uint8_t ret[AUTHORITY_SEED_BYTES])
{
	char signature[SIGNATURE_SIZE];
	AUTO(buf_wipe) struct buf bytes = { 0 };
	token_sign(signature, key, "authority");
	for (char *c = signature; *c; c++)
		*c = *c == '-' ? '+' : *c == '_' ? '/' : *c;
	int r = base64_decode(signature, strlen(signature), &bytes);
	if (r == 0 && bytes.len >= AUTHORITY_SEED_BYTES)
		memcpy(ret, bytes.data, AUTHORITY_SEED_BYTES);
	explicit_bzero(signature, sizeof(signature));
	return r;
}

static struct authority *make_authority(const char *key, struct fail *f)
{
	uint8_t seed[AUTHORITY_SEED_BYTES] = { 0 };
	/* The name is different for each session, so a client that trusts several authorities finds the right one. */
	AUTO(freep) char *id = keyring_placeholder(key, "the authority's name");
	AUTO(freep) char *name = xasprintf("Husk gate %.10s", id + sizeof(SECRET_PLACEHOLDER) - 1);
	if (seed_of(key, seed) < 0) {
		fail_set(f, FAIL_INTERNAL, "cannot derive the key of a certificate authority");
		return NULL;
	}
	struct authority *a = authority_new(seed, name, f);
	explicit_bzero(seed, sizeof(seed));
	return a;
}

int keyring_load(struct keyring *k, const char *key, struct secret_set *set, struct tls_context *upstream,
		 struct fail *f)
{
	if (!k->authority)
		k->authority = make_authority(key, f);
	if (!k->authority)
		return -1;
	for (size_t i = 0; i < set->n; i++) {
		free(set->v[i].placeholder);
		set->v[i].placeholder = keyring_placeholder(key, set->v[i].name);
	}
	if (k->set)
		secret_set_swap(k->set, set);
	else
		k->set = secret_set_ref(set);
	if (!k->upstream && upstream)
		k->upstream = tls_context_ref(upstream);
	return 0;
}

void keyring_set_upstream(struct keyring *k, struct tls_context *upstream)
{
	tls_context_free(k->upstream);
	k->upstream = tls_context_ref(upstream);
}

const char *keyring_authority(const struct keyring *k)
{
	return k->authority ? authority_pem(k->authority) : NULL;
}

static struct tls_context *leaf_for(struct keyring *k, const char *host, struct fail *f)
{
	AUTO(buf_release) struct buf certificate = { 0 };
	AUTO(buf_wipe) struct buf key = { 0 };
	for (size_t i = 0; i < k->n_leaves; i++)
		if (streq(k->leaves[i].host, host))
			return k->leaves[i].context;
	if (k->n_leaves == LEAVES_MAX) {
		fail_set(f, FAIL_LIMIT, "the secrets of this session have too many hosts");
		return NULL;
	}
	if (authority_issue(k->authority, host, &certificate, &key, f) < 0)
		return NULL;
	struct tls_context *context = tls_context_named(host, &certificate, &key, f);
	if (context)
		k->leaves[k->n_leaves++] = (struct leaf){ .host = xstrdup(host), .context = context };
	return context;
}

struct gate_filter *keyring_filter(struct keyring *k, const char *host, uint16_t port, struct fail *f)
{
	if (!k->set) {
		cause_set(f, FAIL_BUSY, CAUSE_GATE_TLS, "the secrets of this session are not loaded yet");
		return NULL;
	}
	const struct gate_secret *secret = secret_set_find(k->set, host, port);
	if (!secret)
		return NULL;
	if (secret->plain)
		return plain_new(host, port, k->set);
	if (!k->upstream) {
		cause_set(f, FAIL_BUSY, CAUSE_GATE_TLS, "the certificates that verify %s are not loaded yet", host);
		return NULL;
	}
	struct tls_context *session = leaf_for(k, host, f);
	if (!session)
		return NULL;
	struct gate_filter *filter = terminate_new(&(struct terminate_spec){
		.host = host, .port = port, .session = session, .upstream = k->upstream, .secrets = k->set });
	if (!filter)
		cause_set(f, FAIL_INVALID, CAUSE_GATE_TLS, "%s cannot be the name in a certificate", host);
	return filter;
}
