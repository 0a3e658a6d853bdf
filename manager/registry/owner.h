/* Which server owns a session, and whether that server is alive.
 *
 * A server that has had a session holds a lock on `servers/ID.lock` in the state folder while it lives. The kernel
 * releases the lock however the process ends. A server with the same state folder checks the lock. A server with
 * another state folder (a store shared by several users) checks the process, if it runs on the same boot of the
 * same machine. Otherwise only the lease is known: a live server renews it each quarter, so a server that has
 * missed three renewals counts as dead. */
#ifndef HUSK_MANAGER_REGISTRY_OWNER_H
#define HUSK_MANAGER_REGISTRY_OWNER_H

#include "manager/model/config.h"
#include "manager/model/token.h"
#include "manager/store/store.h"

struct owner {
	char id[TOKEN_SIZE];
	char *place; /* host name, boot, pid namespace, start of the process: owner_host in the store's rows */
	uint64_t pid;
	char *lock_path; /* NULL until announced */
	int lock_fd;
};

/* A new server of this process. Writes nothing. */
void owner_init(struct owner *o);
/* Takes the lock of the server with this id. The caller owns *ret_path in any case. -1 if the state folder is not
 * writable, which leaves the other two checks. Uses files, so do not call it on the loop. */
int owner_lock(const struct config *config, const char *id, char **ret_path);
/* The server holds this lock from now on. A second lock for the same server is dropped. */
void owner_announce(struct owner *o, char *path, int lock_fd);
/* keep: sessions remain whose next owner will check the lock. */
void owner_release(struct owner *o, bool keep);

/* The owner as the row of another server has it. Strings are borrowed. */
struct owner_claim {
	const char *id;
	const char *place;
	uint64_t pid;
	uint64_t lease_until; /* ms */
};

struct owner_claim owner_claim_of(const struct session_record *row);

enum owner_life { OWNER_ALIVE, OWNER_DEAD, OWNER_UNKNOWN };
/* Judges by lock and process, never by the clock. */
enum owner_life owner_life(const struct config *config, const struct owner_claim *claim);
/* Judges by the lease where lock and process are unknown. now_ms is wall-clock time. */
bool owner_is_dead(const struct config *config, const struct owner_claim *claim, uint64_t now_ms);
/* "process 123 on box". The caller owns the string. */
char *owner_words(const struct owner_claim *claim);

/* Removes locks that no process holds and no lease can refer to any more. */
void owner_sweep(const struct config *config);

#endif
