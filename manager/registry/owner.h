/* Who owns a session, and whether that server still lives.
 *
 * A server that has had a session holds a lock on `servers/ID.lock` in the state folder for as long as it lives; the kernel lets go
 * of it however the process ends. Whoever shares the state folder asks the lock. Who does not (a store shared by several
 * users) asks for the process, if it runs on the same boot of the same machine. For the rest there is only the lease: a
 * living server renews it each quarter, so one that has missed three renewals counts as dead. */
#ifndef HUSK_MANAGER_REGISTRY_OWNER_H
#define HUSK_MANAGER_REGISTRY_OWNER_H

#include "manager/model/config.h"
#include "manager/model/token.h"
#include "manager/store/store.h"

struct owner {
	char id[TOKEN_SIZE];
	char *place; /* host name, boot, pid namespace, start of the process: owner_host of the store's rows */
	uint64_t pid;
	char *lock_path; /* NULL until announced */
	int lock_fd;
};

/* A new server of this process. Writes nothing. */
void owner_init(struct owner *o);
/* The lock of the server with this id, taken; *ret_path is the caller's either way. -1 if the state folder can't be written,
 * which leaves the other two ways. Works on files: not for the loop. */
int owner_lock(const struct config *config, const char *id, char **ret_path);
/* The server holds its lock from now on. A second one for the same server is dropped. */
void owner_announce(struct owner *o, char *path, int lock_fd);
/* keep: sessions stay behind whose next owner will ask the lock. */
void owner_release(struct owner *o, bool keep);

/* As another server's row has it. Strings are borrowed. */
struct owner_claim {
	const char *id;
	const char *place;
	uint64_t pid;
	uint64_t lease_until; /* ms */
};

struct owner_claim owner_claim_of(const struct session_record *row);

enum owner_life { OWNER_ALIVE, OWNER_DEAD, OWNER_UNKNOWN };
/* By lock and process; never by the clock. */
enum owner_life owner_life(const struct config *config, const struct owner_claim *claim);
/* The verdict, with the lease where nothing better is known. now_ms is wall-clock time. */
bool owner_is_dead(const struct config *config, const struct owner_claim *claim, uint64_t now_ms);
/* "process 123 on box", a heap string. */
char *owner_words(const struct owner_claim *claim);

/* Removes the locks that nobody holds and nobody can need any more. */
void owner_sweep(const struct config *config);

#endif
