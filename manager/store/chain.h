/* The log's chain: each time a record is written, one more link is hashed, under the store's key, from the link before it and the
 * record as it is now. There is a chain for each session, and one for the store itself (session ""), which names all the others
 * and holds what belongs to no session. A head says where each chain ends, and a tombstone where what is left of one begins: both
 * are records with a keyed hash of their own. So whoever can write the database, and has not the key, can neither change, nor add,
 * nor remove a record unnoticed. (What they can do is put back a whole older copy of the database.)
 *
 * Blocks, within an exclusive transaction: for the store's jobs only. */
#ifndef HUSK_MANAGER_STORE_CHAIN_H
#define HUSK_MANAGER_STORE_CHAIN_H

#include "manager/model/verdict.h"
#include "manager/store/db.h"
#include "manager/store/key.h"

#define STORE_CHAIN ""

/* Kinds of records. */
#define CHAIN_EXECUTION "execution"
#define CHAIN_EXPORT "export"
#define CHAIN_RECEIPT "receipt"

struct chain_head {
	char *session;
	uint64_t position; /* of the last link; 0 = there is none */
	char link[KEY_HASH_SIZE];
	bool there; /* in the database */
};

/* The chains that one transaction adds to. `{ .db = …, .key = … }` is empty. */
struct chain {
	struct db *db;
	struct key *key;
	struct chain_head *heads;
	size_t n;
	size_t written; /* rows that the last chain_exec() gave back */
};
void chain_release(struct chain *c);

/* To be called before the first record of the transaction is written: the first one of a store notes how many there are already. */
int chain_begin(struct chain *c, uint64_t now_ms, struct fail *f);
/* Runs a statement, and adds a link for each row that it gives back: the columns are the record as it is now, and column `item`
 * says which one it is. */
int chain_exec(struct chain *c, struct db_query *q, const char *session, const char *kind, size_t item, struct fail *f);
/* The database gave back no row for a record that was written: its link says that it was, so that its absence is found. */
int chain_note_swallowed(struct chain *c, const char *session, const char *kind, const char *item, struct fail *f);
/* Writes the heads. After the last record of the transaction. */
int chain_end(struct chain *c, struct fail *f);

/* Keyed hash of a record, as a link holds it. */
int chain_hash(struct key *key, const char *kind, const struct db_value *columns, size_t n, char ret[KEY_HASH_SIZE],
	       struct fail *f);

/* Compares a chain with its records. -1 with f if it could not be read; what is wrong with it is in *ret, to be released. */
int chain_verify(struct db *db, struct key *key, const char *session, struct log_verdict *ret, struct fail *f);

/* Removes the executions of a session, and leaves a tombstone in place of the links so far; links of its exports follow it. A chain
 * in which something is wrong is left as it is. *ret_n counts what was removed. */
int chain_prune(struct db *db, struct key *key, const char *session, uint64_t now_ms, uint64_t *ret_n, struct fail *f);

/* The columns of each kind, in the order in which they are hashed. */
#define EXECUTION_COLUMNS "session, seq, tool, started, ended, ending, in_bytes, out_bytes, env"
#define EXPORT_COLUMNS                                                                                                 \
	"id, thread, session, path, name, directory, size, stored, hash, mime, mode, mtime_ms, created, file"
#define RECEIPT_COLUMNS "key, image, engine, boot, result, created"

#endif
