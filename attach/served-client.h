/* One program that has attached: its connection and its calls. */
#ifndef HUSK_ATTACH_SERVED_CLIENT_H
#define HUSK_ATTACH_SERVED_CLIENT_H

#include "base/list.h"
#include "manager/manager.h"

struct served_client;

struct served_client_spec {
	struct loop *loop;
	const struct config *config;
	struct conversation *conversation;
	uint64_t client; /* a number that no other client of the conversation has */
	int fd;		 /* taken, on success and on failure */
	/* It is gone, or has to be: served_client_free() is the owner's to call, also from inside. */
	void (*on_end)(void *ctx, struct served_client *p);
	void *ctx;
};

/* NULL with errno set if the descriptor is unusable. */
struct served_client *served_client_new(const struct served_client_spec *spec);
/* Its calls are cancelled, and its runs end. Accepts NULL, returns NULL. */
struct served_client *served_client_free(struct served_client *p);
/* The same without a word to the manager, which may be gone. */
struct served_client *served_client_drop(struct served_client *p);
/* Says no to one who was not let in, and closes. */
void served_client_refuse(int fd, const struct fail *why);

/* In its owner's list. */
struct list *served_client_node(struct served_client *p);
struct served_client *served_client_of(struct list *node);

#endif
