/* Command lines that query the docker CLI and its engine, and a pure parser of the answers. Answers are hostile
 * input: their size is bounded by the caller, and their content is checked here and may be incomplete. */
#ifndef HUSK_MANAGER_ENGINE_DOCKER_INFO_H
#define HUSK_MANAGER_ENGINE_DOCKER_INFO_H

#include "base/fail.h"
#include "base/strv.h"
#include "manager/engine/answer.h"

/* The command line of a query. subject: see engine_query_kind; ENGINE_QUERY_NETWORK needs a network's id, see
 * argv_network_list(). */
void info_argv(struct strv *argv, const char *docker, enum engine_query_kind kind, const char *subject);
/* The words after "cannot" in a message. */
const char *info_doing(enum engine_query_kind kind);
/* Fills in the answer to ret->kind. Free it with engine_answer_release(). On failure there is nothing to free. */
int info_read(struct engine_answer *ret, const char *text, size_t n, struct fail *f);
/* Fills f for an answer that cannot be parsed. Returns -1. */
int info_not_understood(struct fail *f, enum engine_query_kind kind);
#define INFO_HINT_CLIENT "check that HUSK_DOCKER, or the first `docker` in PATH, is a docker client that works"

/* True for the address of an engine on this machine. */
bool info_is_local(const char *host);

#endif
