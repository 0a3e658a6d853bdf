/* The log's chain. Each time a record is written, its chain gets another link: a hash, made with the store's key, of
 * the previous link and the record's current content. Each session has a chain. The store has one too (session ""),
 * which names all the others and holds the records that belong to no session. A head says where each chain ends, and
 * a tombstone says where the rest of a pruned chain begins; both are records with their own keyed hash.
 *
 * So someone who can write the database but lacks the key cannot change, add or remove a record unnoticed. (They can
 * restore an older copy of the whole database.)
 *
 * These functions block and need an exclusive transaction. Only the store's worker jobs may call them. */
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
	uint64_t position; /* position of the last link; 0 = no links */
	char link[KEY_HASH_SIZE];
	bool there; /* exists in the database */
};

/* The chains that one transaction extends. Initialize it with `{ .db = …, .key = … }`. */
struct chain {
	struct db *db;
	struct key *key;
	struct chain_head *heads;
	size_t n;
	size_t written; /* rows that the last chain_exec() returned */
};
void chain_release(struct chain *c);

/* Call it before the transaction writes its first record: in a new chain it notes how many records exist already. */
int chain_begin(struct chain *c, uint64_t now_ms, struct fail *f);
/* Executes a statement and adds a link for each returned row: the columns are the record's current content, and
 * column `item` identifies it. */
int chain_exec(struct chain *c, struct db_query *q, const char *session, const char *kind, size_t item, struct fail *f);
/* Adds a link for a row that was inserted with these columns. `item` identifies it. */
int chain_add_row(struct chain *c, const struct db_value *columns, size_t n, const char *session, const char *kind,
		  const char *item, struct fail *f);
/* Call it if the database returned no row for a written record. Adds a link anyway, so that verification finds that
 * the record is missing. */
int chain_note_swallowed(struct chain *c, const char *session, const char *kind, const char *item, struct fail *f);
/* Writes the heads. Call it after the transaction's last record. */
int chain_end(struct chain *c, struct fail *f);

/* Keyed hash of a record, as stored in a link. */
int chain_hash(struct key *key, const char *kind, const struct db_value *columns, size_t n, char ret[KEY_HASH_SIZE],
	       struct fail *f);

/* Compares a chain with its records. -1 with f if it cannot be read. *ret gets the faults; the caller releases it. */
int chain_verify(struct db *db, struct key *key, const char *session, struct log_verdict *ret, struct fail *f);

/* Removes the executions of a session and replaces its links with a tombstone, followed by new links for its
 * exports. A chain with faults is left unchanged. *ret_n is the number of removed records. */
int chain_prune(struct db *db, struct key *key, const char *session, uint64_t now_ms, uint64_t *ret_n, struct fail *f);

/* The columns of each kind, in hashing order. */
#define EXECUTION_COLUMNS "session, seq, tool, started, ended, ending, in_bytes, out_bytes, env"
#define EXPORT_COLUMNS                                                                                                 \
	"id, thread, session, path, name, directory, size, stored, hash, mime, mode, mtime_ms, created, file"
#define RECEIPT_COLUMNS "key, image, engine, boot, result, created"

#endif
