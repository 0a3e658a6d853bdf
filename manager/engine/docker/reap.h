/* A separate process that removes the containers of a server that has exited, including those whose create was
 * interrupted and that may appear a moment later. */
#ifndef HUSK_MANAGER_ENGINE_DOCKER_REAP_H
#define HUSK_MANAGER_ENGINE_DOCKER_REAP_H

/* Blocks until all containers are gone or a time limit is reached. Names must have Husk's prefix or be ids. Returns
 * an exit code. */
int reap_containers(const char *docker, char *const *names);

#endif
