/* One attached client: its connection and its requests. */
#ifndef HUSK_ATTACH_SERVED_CLIENT_H
#define HUSK_ATTACH_SERVED_CLIENT_H

#include "base/list.h"
#include "manager/manager.h"

struct served_client;

struct served_client_spec {
	struct loop *loop;
	const struct config *config;
	struct conversation *conversation;
	uint64_t client; /* unique among the clients of the conversation */
	int fd;		 /* taken on success and on failure */
	/* The client has disconnected or must be disconnected. The owner calls served_client_free(), in the callback or
	 * later. */
	void (*on_end)(void *ctx, struct served_client *p);
	void *ctx;
};

/* NULL with errno set if the descriptor is unusable. */
struct served_client *served_client_new(const struct served_client_spec *spec);
/* Cancels its requests and ends its runs. Accepts NULL, returns NULL. */
struct served_client *served_client_free(struct served_client *p);
/* Frees the client without calling the manager, which may be freed already. Accepts NULL, returns NULL. */
struct served_client *served_client_drop(struct served_client *p);
/* Refuses a client and closes its connection. */
void served_client_refuse(int fd, const struct fail *why);

/* The client's node in the list of its owner, and back. */
struct list *served_client_node(struct served_client *p);
struct served_client *served_client_of(struct list *node);

#endif
