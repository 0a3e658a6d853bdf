/* Pure functions that build docker command lines. tests/golden/argv has the expected command lines. */
#ifndef HUSK_MANAGER_ENGINE_DOCKER_ARGV_H
#define HUSK_MANAGER_ENGINE_DOCKER_ARGV_H

#include "base/strv.h"
#include "manager/engine/engine.h"

#define NETWORK_NAME "husk"
/* Label of a network: the name of its bridge, which the fence's rules use (kernels/fence/rules.h). */
#define BRIDGE_LABEL "husk.bridge"
#define BRIDGE_NAME "husk0"
#define FENCE_LABEL "husk.fence"
/* Label of everything that belongs to a store; its value is the store's id. */
#define STORE_LABEL "husk.store"
/* The server that started a container. */
#define OWNER_LABEL "husk.owner"
/* A random id that only this container has. */
#define MARK_LABEL "husk.id"

/* network: the id or name of Husk's network; ignored without spec->network, and with spec->network_late. */
void argv_run(struct strv *argv, const char *docker, const struct container_spec *spec, const char *network);
/* gVisor ignores the sysctl of argv_run(), but its sockets are those of the container's network namespace. A container of
 * the default runtime sets the sysctl there, and ends. */
void argv_open_ports(struct strv *argv, const char *docker, const struct container_spec *spec);
void argv_attach(struct strv *argv, const char *docker, const char *container);
void argv_remove(struct strv *argv, const char *docker, const char *container);
/* Fails if the container runs. */
void argv_remove_ended(struct strv *argv, const char *docker, const char *container);
void argv_bake_create(struct strv *argv, const char *docker, const struct bake_spec *spec);
/* If spec->source is an image: creates the container to copy from. */
void argv_bake_source(struct strv *argv, const char *docker, const struct bake_spec *spec);
void argv_bake_run(struct strv *argv, const char *docker, const struct bake_spec *spec);
/* argv_bake_read() writes a tar to its output, which argv_bake_write() reads. */
void argv_bake_read(struct strv *argv, const char *docker, const struct bake_spec *spec);
void argv_bake_write(struct strv *argv, const char *docker, const struct bake_spec *spec);
void argv_bake_commit(struct strv *argv, const char *docker, const struct bake_spec *spec);
void argv_image_remove(struct strv *argv, const char *docker, const char *image);
/* Removes images that lost their name to a newer image and that no container uses. */
void argv_image_prune(struct strv *argv, const char *docker);
void argv_watch(struct strv *argv, const char *docker, const char *store);
/* Lists ids and bridges, for inspect_network_ids(). */
void argv_network_list(struct strv *argv, const char *docker);
void argv_network_remove(struct strv *argv, const char *docker, char *const *ids, size_t n);
void argv_network_create(struct strv *argv, const char *docker);
/* A container first leaves the network "none", which it cannot have together with another. Then it joins the network
 * with this id or name. */
void argv_network_leave(struct strv *argv, const char *docker, const char *container);
void argv_network_join(struct strv *argv, const char *docker, const char *network, const char *container);
/* Sets or checks the fence in a container of this name, which is removed when the command ends. */
void argv_fence(struct strv *argv, const char *docker, const struct fence_spec *spec, const char *name);
/* Removes containers of argv_fence() that were never started. */
void argv_fence_prune(struct strv *argv, const char *docker, uint64_t min_age);
void argv_network_prune(struct strv *argv, const char *docker, uint64_t min_age);

#endif
