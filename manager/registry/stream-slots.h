/* Open streams of tenants with a limit, which all servers of a store count together. */
#ifndef HUSK_MANAGER_REGISTRY_STREAM_SLOTS_H
#define HUSK_MANAGER_REGISTRY_STREAM_SLOTS_H

#include "manager/registry/registry.h"

/* Renews the streams of this server while it has any. */
struct stream_slots *stream_slots_new(struct registry *r);
/* Accepts NULL, returns NULL. */
struct stream_slots *stream_slots_free(struct stream_slots *s);
/* The server ends: its streams no longer count. */
void stream_slots_leave(struct stream_slots *s);

#endif
