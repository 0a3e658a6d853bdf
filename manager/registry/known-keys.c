#include "manager/registry/known-keys.h"

#include "base/alloc.h"
#include "manager/model/token.h"

#define KEYS_MAX 64

struct known_key {
	char hash[TOKEN_HASH_SIZE];
	struct key_info info;
	char *id, *name, *tenant, *conversation;
	uint64_t until; /* in loop_now_ms() */
};

struct known_keys {
	struct known_key v[KEYS_MAX];
	size_t next; /* the entry to replace */
};

static void entry_release(struct known_key *e)
{
	free(e->id);
	free(e->name);
	free(e->tenant);
	free(e->conversation);
	*e = (struct known_key){ 0 };
}

void known_keys_forget(struct known_keys *k)
{
	for (size_t i = 0; k && i < KEYS_MAX; i++)
		entry_release(&k->v[i]);
}

struct known_keys *known_keys_free(struct known_keys *k)
{
	known_keys_forget(k);
	free(k);
	return NULL;
}

static struct known_key *find(const struct known_keys *k, const char *text)
{
	char hash[TOKEN_HASH_SIZE];
	token_hash(hash, &text, 1);
	for (size_t i = 0; k && i < KEYS_MAX; i++)
		if (streq(k->v[i].hash, hash))
			return (struct known_key *)&k->v[i];
	return NULL;
}

void known_keys_add(struct known_keys **k, const char *text, const struct key_info *info)
{
	if (!*k)
		*k = new0(struct known_keys);
	struct known_key *e = find(*k, text);
	if (!e)
		e = &(*k)->v[(*k)->next++ % KEYS_MAX];
	entry_release(e);
	token_hash(e->hash, &text, 1);
	e->id = xstrdup(info->id);
	e->name = xstrdup(info->name);
	e->tenant = xstrdup(info->tenant);
	e->conversation = info->conversation ? xstrdup(info->conversation) : NULL;
	e->info = *info;
	e->info.id = e->id;
	e->info.name = e->name;
	e->info.tenant = e->tenant;
	e->info.conversation = e->conversation;
	e->until = loop_now_ms() + KNOWN_KEY_MS;
}

const struct key_info *known_keys_find(const struct known_keys *k, const char *text)
{
	const struct known_key *e = k ? find(k, text) : NULL;
	return e && loop_now_ms() < e->until ? &e->info : NULL;
}
