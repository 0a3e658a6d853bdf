/* How sessions join the registry, and what happens when one is ready, dies or is stopped. */
#ifndef HUSK_MANAGER_REGISTRY_MEMBER_H
#define HUSK_MANAGER_REGISTRY_MEMBER_H

#include "manager/registry/registry.h"

struct member_spec {
	const struct runtime *runtime;
	const char *image;
	const char *thread;
	bool network;
	struct limits limits;
};
/* Does not start anything yet. */
struct member *member_new(struct registry *r, const struct member_spec *spec);
/* Starts the container after its slot was claimed. env and cwd are the session's own, or NULL. ops_ready() or
 * ops_dead() follows. */
void member_start(struct member *m, const struct strv *env, const char *cwd);
/* The same for a warm container whose row exists. m->on_warm follows. */
void member_start_warm(struct member *m);
/* Turns a warm container whose row has become a session of this conversation into that session. ops_ready() or
 * ops_dead() follows. */
void member_claim(struct member *m, const char *thread, const struct strv *env, const char *cwd);
/* True if the warm container can become a session of this kind: all that its container was created with is the
 * same. */
bool member_fits(const struct member *m, const struct member_spec *spec);
/* A session of a dead server that now belongs to this server in the store. */
struct member *member_adopt(struct registry *r, const struct session_record *row);
/* 0 if the session accepts requests; else -1 with f. */
int member_check(const struct member *m, struct fail *f);

#endif
