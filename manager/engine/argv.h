/* Pure: what is wanted -> the docker command line. Tested against tests/golden/argv without any engine. */
#ifndef HUSK_MANAGER_ENGINE_ARGV_H
#define HUSK_MANAGER_ENGINE_ARGV_H

#include "base/strv.h"
#include "manager/engine/engine.h"

#define NETWORK_NAME "husk"

/* network: the id or name of Husk's network; only looked at when spec->network. */
void argv_run(struct strv *argv, const char *docker, const struct container_spec *spec, const char *network);
void argv_attach(struct strv *argv, const char *docker, const char *container);
void argv_remove(struct strv *argv, const char *docker, const char *container);
void argv_watch(struct strv *argv, const char *docker, const char *thread);
void argv_network_list(struct strv *argv, const char *docker);
void argv_network_create(struct strv *argv, const char *docker);
void argv_network_prune(struct strv *argv, const char *docker, uint64_t min_age);

#endif
