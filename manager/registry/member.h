/* How sessions join the registry and what happens when one comes up, dies or is stopped. */
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
/* Nothing is started yet. */
struct member *member_new(struct registry *r, const struct member_spec *spec);
/* Its slot is taken: its container starts, with variables and a directory of its own (both may be NULL). ops_ready() or
 * ops_dead() follows. */
void member_start(struct member *m, const struct strv *env, const char *cwd);
/* The same for one that is to be warm, whose row is there: m->on_warm follows. */
void member_start_warm(struct member *m);
/* A warm one whose row has become a session of this conversation: it is that from now on. ops_ready() or ops_dead() follows. */
void member_claim(struct member *m, const char *thread, const struct strv *env, const char *cwd);
/* True if a session of this kind could be made of it: everything that its container was made with is the same. */
bool member_fits(const struct member *m, const struct member_spec *spec);
/* A session of a server that is dead, which the store says is ours now. */
struct member *member_adopt(struct registry *r, const struct session_record *row);
/* 0 if calls can be made; else -1 and why not. */
int member_check(const struct member *m, struct fail *f);

#endif
