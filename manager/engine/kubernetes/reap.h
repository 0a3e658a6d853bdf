/* A separate process that removes the pods of a server that has exited, including those whose create was interrupted
 * and that may appear a moment later. */
#ifndef HUSK_MANAGER_ENGINE_KUBERNETES_REAP_H
#define HUSK_MANAGER_ENGINE_KUBERNETES_REAP_H

/* Blocks until all rounds are over. Names: CONTEXT/NAMESPACE/POD of one context ("" = kubectl's current) and one
 * namespace; pods must have Husk's prefix. Returns an exit code. */
int reap_pods(const char *kubectl, char *const *names);

#endif
