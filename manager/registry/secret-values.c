#include "manager/registry/secret-values.h"

#include "base/alloc.h"
#include "base/log.h"
#include "manager/gate/verify.h"
#include "manager/model/tenant.h"
#include "manager/model/token.h"

struct secret_values {
	struct loop *loop;
	const struct config *config;
	struct store *store;
	char *key;		      /* NULL = not derived yet; wiped */
	struct tls_context *upstream; /* NULL = not loaded yet */
	struct list sessions;	      /* of struct session_secrets */
	struct list readings;	      /* of struct secret_reading */
	struct timer *timer;	      /* looks for changes while there are sessions with secrets */
	struct store_job *check;
	char *version; /* of all secrets in the store, when it was last looked at */
};

struct secret_reading {
	struct list node;
	struct secret_values *values;
	char *tenant, *names;
	bool some; /* those that still exist are enough */
	struct verify_load *load;
	struct store_job *job;
	void (*on_done)(void *ctx, struct secret_set *set, const struct fail *f);
	void *ctx;
};

struct session_secrets {
	struct list node;
	struct secret_values *values;
	char *session, *conversation, *names;
	struct keyring *keyring;
	struct secret_reading *reading;
	bool again; /* something was changed while they were read */
};

/* --- reading ------------------------------------------------------------------------------------------------------- */

static void reading_free(struct secret_reading *r)
{
	list_remove(&r->node);
	store_cancel(r->job);
	verify_load_cancel(r->load);
	free(r->tenant);
	free(r->names);
	free(r);
}

void secret_reading_cancel(struct secret_reading *reading)
{
	if (reading)
		reading_free(reading);
}

static void deliver(struct secret_reading *r, struct secret_set *set, const struct fail *f)
{
	void (*on_done)(void *ctx, struct secret_set *set, const struct fail *f) = r->on_done;
	void *ctx = r->ctx;
	reading_free(r);
	on_done(ctx, set, f);
}

static void add_hosts(struct strv *to, const char *hosts)
{
	for (const char *at = hosts; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");
		strv_addf(to, "%.*s", (int)n, at);
		at += n;
	}
}

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static struct secret_set *set_of(const struct secret_record *v, size_t n)
{
	struct secret_set *set = secret_set_new();
	for (size_t i = 0; i < n; i++) {
		struct gate_secret *s = secret_set_add(set);
		*s = (struct gate_secret){ .name = xstrdup(v[i].info.name),
					   .value = xstrdup(v[i].value),
					   .header = copy(v[i].info.header),
					   .query = copy(v[i].info.query),
					   .basic = copy(v[i].info.basic) };
		add_hosts(&s->hosts, v[i].info.hosts);
	}
	return set;
}

static bool has(const struct secret_set *set, const char *name, size_t n)
{
	for (size_t i = 0; i < set->n; i++)
		if (strlen(set->v[i].name) == n && memcmp(set->v[i].name, name, n) == 0)
			return true;
	return false;
}

static int check_all_there(const struct secret_set *set, const char *names, struct fail *f)
{
	for (const char *at = names; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");
		if (!has(set, at, n)) {
			fail_set(f, FAIL_INVALID, "secrets: there is no secret '%.*s'", (int)n, at);
			return fail_hint(f, "The person who runs Husk can store it: husk secret set %.*s --host HOST.",
					 (int)n, at);
		}
		at += n;
	}
	return 0;
}

static void on_opened(void *ctx, const struct secret_record *v, size_t n, const struct fail *f)
{
	struct secret_reading *r = ctx;
	AUTO(fail_release) struct fail missing = { 0 };
	r->job = NULL;
	if (f) {
		deliver(r, NULL, f);
		return;
	}
	struct secret_set *set = set_of(v, n);
	if (!r->some && check_all_there(set, r->names, &missing) < 0)
		deliver(r, NULL, &missing);
	else
		deliver(r, set, NULL);
	secret_set_unref(set);
}

static void step(struct secret_reading *r);

static void on_key(void *ctx, const char *text, const struct fail *f)
{
	struct secret_reading *r = ctx;
	r->job = NULL;
	if (text && !r->values->key)
		r->values->key = xstrdup(text);
	if (f)
		deliver(r, NULL, f);
	else
		step(r);
}

static void on_loaded(void *ctx, struct tls_context *context, const struct fail *f)
{
	struct secret_reading *r = ctx;
	r->load = NULL;
	if (context && !r->values->upstream)
		r->values->upstream = tls_context_ref(context);
	if (f)
		deliver(r, NULL, f);
	else
		step(r);
}

static void step(struct secret_reading *r)
{
	struct secret_values *v = r->values;
	if (!v->upstream) {
		r->load = verify_load_start(v->loop, v->config->ca_bundle, on_loaded, r);
	} else if (!v->key) {
		r->job = store_derive_key(v->store, "gate", on_key, r);
	} else {
		r->job = store_secrets_open(v->store, r->tenant, r->names, on_opened, r);
	}
}

static struct secret_reading *read_values(struct secret_values *v, const char *conversation, const char *names,
					  bool some,
					  void (*on_done)(void *ctx, struct secret_set *set, const struct fail *f),
					  void *ctx)
{
	struct secret_reading *r = new0(struct secret_reading);
	r->values = v;
	r->tenant = tenant_of(conversation);
	r->names = xstrdup(names);
	r->some = some;
	r->on_done = on_done;
	r->ctx = ctx;
	list_append(&v->readings, &r->node);
	step(r);
	return r;
}

struct secret_reading *secret_values_read(struct secret_values *v, const struct secret_read *q)
{
	return read_values(v, q->conversation, q->names, /* some= */ false, q->on_done, q->ctx);
}

/* --- the secrets of one session ------------------------------------------------------------------------------------ */

static int load_keyring(struct session_secrets *s, struct secret_set *set, struct fail *f)
{
	char key[SIGNATURE_SIZE];
	token_sign(key, s->values->key, s->session);
	int r = keyring_load(s->keyring, key, set, s->values->upstream, f);
	explicit_bzero(key, sizeof(key));
	return r;
}

static void watch(struct secret_values *v);

struct session_secrets *session_secrets_new(struct secret_values *v, const char *session, const char *conversation,
					    const char *names)
{
	struct session_secrets *s = new0(struct session_secrets);
	s->values = v;
	s->session = xstrdup(session);
	s->conversation = xstrdup(conversation);
	s->names = xstrdup(names);
	s->keyring = keyring_new();
	list_append(&v->sessions, &s->node);
	watch(v);
	return s;
}

int session_secrets_give(struct session_secrets *s, struct secret_set *set, struct strv *env, struct fail *f)
{
	if (load_keyring(s, set, f) < 0)
		return -1;
	for (size_t i = 0; i < set->n; i++) {
		AUTO(freep) char *pair = xasprintf("%s=%s", set->v[i].name, set->v[i].placeholder);
		strv_set_env(env, pair);
	}
	return 0;
}

const char *session_secrets_authority(const struct session_secrets *s)
{
	return s ? keyring_authority(s->keyring) : NULL;
}

const char *session_secrets_names(const struct session_secrets *s)
{
	return s ? s->names : NULL;
}

struct gate_filter *session_secrets_filter(void *ctx, const char *name, uint16_t port, struct fail *f)
{
	struct session_secrets *s = ctx;
	return keyring_filter(s->keyring, name, port, f);
}

static void on_reread(void *ctx, struct secret_set *set, const struct fail *f)
{
	struct session_secrets *s = ctx;
	AUTO(fail_release) struct fail why = { 0 };
	s->reading = NULL;
	if (f)
		fail_copy(&why, f);
	else
		(void)load_keyring(s, set, &why);
	if (why.kind) {
		log_warning("the secrets of session %s were not read: %s", s->session, why.message);
		/* The next check tries again. */
		free(take_ptr(s->values->version));
	}
	if (s->again)
		session_secrets_read(s);
}

void session_secrets_read(struct session_secrets *s)
{
	s->again = s->reading != NULL;
	if (!s->reading)
		s->reading = read_values(s->values, s->conversation, s->names, /* some= */ true, on_reread, s);
}

struct session_secrets *session_secrets_free(struct session_secrets *s)
{
	if (!s)
		return NULL;
	list_remove(&s->node);
	secret_reading_cancel(s->reading);
	keyring_free(s->keyring);
	free(s->session);
	free(s->conversation);
	free(s->names);
	free(s);
	return NULL;
}

/* --- changes ------------------------------------------------------------------------------------------------------- */

void secret_values_changed(struct secret_values *v)
{
	list_for_each(s, &v->sessions, struct session_secrets, node)
		session_secrets_read(s);
}

static void on_version(void *ctx, const char *text, const struct fail *f)
{
	struct secret_values *v = ctx;
	v->check = NULL;
	bool same = text && v->version && streq(text, v->version);
	/* While the store is down, sessions keep what they have. */
	if (!f && !same) {
		free(v->version);
		v->version = xstrdup(text);
		secret_values_changed(v);
	}
	watch(v);
}

static void check(void *ctx)
{
	struct secret_values *v = ctx;
	if (!list_empty(&v->sessions))
		v->check = store_secrets_version(v->store, on_version, v);
}

static void watch(struct secret_values *v)
{
	if (!v->check && !timer_active(v->timer))
		timer_start(v->timer, SECRETS_CHECK_MS, 0);
}

struct secret_values *secret_values_new(struct loop *loop, const struct config *config, struct store *store)
{
	struct secret_values *v = new0(struct secret_values);
	v->loop = loop;
	v->config = config;
	v->store = store;
	list_init(&v->sessions);
	list_init(&v->readings);
	v->timer = timer_new(loop, check, v);
	return v;
}

struct secret_values *secret_values_free(struct secret_values *v)
{
	if (!v)
		return NULL;
	list_for_each(r, &v->readings, struct secret_reading, node)
		reading_free(r);
	store_cancel(v->check);
	timer_free(v->timer);
	tls_context_free(v->upstream);
	if (v->key)
		explicit_bzero(v->key, strlen(v->key));
	free(v->key);
	free(v->version);
	free(v);
	return NULL;
}

/* --- the names in a request ---------------------------------------------------------------------------------------- */

static int check_name(const char *const *names, size_t i, const struct env_var *env, size_t n_env, struct fail *f)
{
	if (!secret_name_is_valid(names[i]))
		return fail_set(f, FAIL_INVALID, "secrets: '%.100s' is not the name of a secret", names[i]);
	for (size_t k = 0; k < i; k++)
		if (streq(names[k], names[i]))
			return fail_set(f, FAIL_INVALID, "secrets: '%s' is listed twice", names[i]);
	for (size_t k = 0; k < n_env; k++)
		if (streq(env[k].name, names[i]))
			return fail_set(f, FAIL_INVALID, "secrets: the variable '%s' is in env too", names[i]);
	return 0;
}

int secrets_check(const struct secret_names *names, const struct env_var *env, size_t n_env, struct fail *f)
{
	if (names->n > SESSION_SECRETS_MAX)
		return fail_set(f, FAIL_INVALID, "secrets: a session can have at most %d secrets", SESSION_SECRETS_MAX);
	for (size_t i = 0; i < names->n; i++)
		if (check_name(names->v, i, env, n_env, f) < 0)
			return -1;
	return 0;
}
