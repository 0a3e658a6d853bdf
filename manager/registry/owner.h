/* The server that owns a session, and whether that server is alive.
 *
 * A server that has had a session holds a lock on `servers/ID.lock` in the state folder while it lives. The kernel
 * releases the lock however the process ends. A server with the same state folder checks the lock: if the lock is
 * free, its server is dead. If the lock is held, the server may still be dead, since a forked child shares the lock
 * until the child calls exec(). So the process is checked too, if it runs on the same boot of the same machine. A
 * server with another state folder (a store shared by several users) checks only the process. If neither check is
 * possible, the lease decides: a live server renews it whenever a quarter of it has passed, so a server that has
 * missed three renewals counts as dead. */
#ifndef HUSK_MANAGER_REGISTRY_OWNER_H
#define HUSK_MANAGER_REGISTRY_OWNER_H

#include "base/loop.h"
#include "manager/model/config.h"
#include "manager/model/token.h"
#include "manager/store/store.h"

struct owner {
	char id[TOKEN_SIZE];
	/* Host name, boot, pid namespace, start of the process, and its address for other machines (HUSK_ADVERTISE), if
	 * it has one: owner_host in the store's rows. */
	char *place;
	uint64_t pid;
	char *lock_path; /* NULL until announced */
	int lock_fd;
};

/* Fills in the identity of a new server in this process. Writes nothing. */
void owner_init(struct owner *o, const char *advertise);
/* Takes the lock of the server with this id. The caller owns *ret_path in any case. -1 if the state folder is not
 * writable; other servers then use the other two checks. Uses files, so do not call it on the loop. */
int owner_lock(const struct config *config, const char *id, char **ret_path);
/* Hands the lock over to the server, which holds it from now on. A second lock for the same server is dropped. */
void owner_announce(struct owner *o, char *path, int lock_fd);
/* keep: leaves the lock file in place, because the next owner of the remaining sessions will check it. */
void owner_release(struct owner *o, bool keep);

/* The owner of a session according to the session's row. Strings are borrowed. */
struct owner_claim {
	const char *id;
	const char *place;
	uint64_t pid;
	uint64_t lease_until; /* ms */
};

struct owner_claim owner_claim_of(const struct session_record *row);

enum owner_life { OWNER_ALIVE, OWNER_DEAD, OWNER_UNKNOWN };
/* Judges by the lock and the process only, and never by the clock. */
enum owner_life owner_life(const struct config *config, const struct owner_claim *claim);
/* Judges by the lock and the process, and by the lease if these give no result. now_ms is wall-clock time. */
bool owner_is_dead(const struct config *config, const struct owner_claim *claim, uint64_t now_ms);
/* "process 123 on host". The caller owns the string. */
char *owner_words(const struct owner_claim *claim);

/* The address for other machines in that text; "" = none. */
const char *owner_address(const struct owner_claim *claim);

/* Removes locks that no process holds and no lease can refer to any more. */
void owner_sweep(const struct config *config);
/* The same in a worker job, without a callback. */
void owner_sweep_soon(struct loop *loop, const struct config *config);

#endif
