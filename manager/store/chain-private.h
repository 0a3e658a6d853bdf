/* Private to the chain's files. */
#ifndef HUSK_MANAGER_STORE_CHAIN_PRIVATE_H
#define HUSK_MANAGER_STORE_CHAIN_PRIVATE_H

#include "manager/store/chain.h"

/* Kinds of links that only the store's own chain has. The item of the first link is "RECORDS MS": the number of
 * earlier records, and the time. */
#define CHAIN_START "start"
#define CHAIN_RESTART "restart"
#define CHAIN_SESSION "session"

struct tombstone {
	bool there;
	uint64_t position; /* position of the last removed link */
	uint64_t pruned, pruned_at;
	char link[KEY_HASH_SIZE];
	char seal[KEY_HASH_SIZE];
};

int chain_seal_head(struct key *key, const char *session, uint64_t position, const char *link, char ret[KEY_HASH_SIZE],
		    struct fail *f);
int chain_seal_tombstone(struct key *key, const char *session, const struct tombstone *t, char ret[KEY_HASH_SIZE],
			 struct fail *f);
int chain_link(struct key *key, const char *session, uint64_t position, const char *before, const char *kind,
	       const char *item, const char *content, char ret[KEY_HASH_SIZE], struct fail *f);
/* *ret is all zero if there is no tombstone. */
int chain_read_tombstone(struct db *db, const char *session, struct tombstone *ret, struct fail *f);

static inline void chain_copy_hash(char to[KEY_HASH_SIZE], const struct db_value *v)
{
	snprintf(to, KEY_HASH_SIZE, "%s", v->kind == DB_TEXT ? v->text : "");
}

#endif
