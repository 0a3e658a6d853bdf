/* What a server that has exited leaves to be done: a process of its own removes its containers. Also those whose create was
 * cut off in the middle, which may turn up at the engine a moment later. */
#ifndef HUSK_MANAGER_ENGINE_DOCKER_REAP_H
#define HUSK_MANAGER_ENGINE_DOCKER_REAP_H

/* Blocks until all of them are gone or the time is over. Names without Husk's prefix are refused. Returns an exit code. */
int reap_containers(const char *docker, char *const *names);

#endif
