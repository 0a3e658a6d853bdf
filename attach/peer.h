/* One program that has attached: its connection and its calls. */
#ifndef HUSK_ATTACH_PEER_H
#define HUSK_ATTACH_PEER_H

#include "base/list.h"
#include "manager/manager.h"

struct peer;

struct peer_spec {
	struct loop *loop;
	const struct config *config;
	struct conversation *conversation;
	uint64_t guest; /* a number that no other peer of the conversation has */
	int fd;		/* taken, on success and on failure */
	/* It is gone, or has to be: peer_free() is the owner's to call, also from inside. */
	void (*on_end)(void *ctx, struct peer *p);
	void *ctx;
};

/* NULL with errno set if the descriptor is unusable. */
struct peer *peer_new(const struct peer_spec *spec);
/* Its calls are cancelled, and its runs end. Accepts NULL, returns NULL. */
struct peer *peer_free(struct peer *p);
/* The same without a word to the manager, which may be gone. */
struct peer *peer_drop(struct peer *p);
/* Says no to one who was not let in, and closes. */
void peer_turn_away(int fd, const struct fail *why);

/* In its owner's list. */
struct list *peer_node(struct peer *p);
struct peer *peer_of(struct list *node);

#endif
