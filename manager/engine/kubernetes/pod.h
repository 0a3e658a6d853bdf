/* Pure: the pod of a session as JSON, and what the API server reports about a pod. Reports are hostile input: strings
 * are cut and cleaned, and anything may be missing. */
#ifndef HUSK_MANAGER_ENGINE_KUBERNETES_POD_H
#define HUSK_MANAGER_ENGINE_KUBERNETES_POD_H

#include <jansson.h>

#include "manager/engine/engine.h"

/* The containers of a pod: PID 1 with the session, and the one that reaches it. */
#define POD_MAIN "main"
#define POD_ATTACH "attach"

/* Labels. The last one selects the NetworkPolicy (deploy/kubernetes/network.yaml). */
#define POD_STORE "husk.store"
#define POD_OWNER "husk.owner"
#define POD_MARK "husk.id"
#define POD_NETWORK "husk.network"

/* image: the full reference. New reference. */
json_t *pod_make(const struct container_spec *spec, const char *image);
/* A pod that runs a script of bash in the same network as a session's, and ends. New reference. */
json_t *pod_make_trial(const struct container_spec *spec, const char *image, const char *script);

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

#define POD_TEXT 400

struct pod {
	char name[64], uid[65], store[65], owner[65], mark[65];
	char node[64]; /* "" = not scheduled yet */
	enum pod_phase phase;
	char reason[64], message[POD_TEXT]; /* why it waits or ended; "" = no reason given */
	uint64_t created;		    /* seconds since 1970 */
	bool deleting;			    /* its removal was requested */
	bool unschedulable;		    /* no node has room for it */
	bool stuck;			    /* an image cannot be pulled, or a container cannot be started */
	bool no_image;			    /* stuck because of the image */
	bool started;			    /* both containers run */
	bool disrupted;			    /* the cluster has ended it: an eviction, a preemption, a lost node */
	bool ended;			    /* POD_MAIN has ended, or the pod as a whole */
	bool oom;
	int exit_code; /* of POD_MAIN, if it has ended */
};

/* False if the object is not a pod with a name and a uid. */
bool pod_read(const json_t *object, struct pod *ret);
/* "Pending", … */
const char *pod_phase_name(enum pod_phase phase);
/* True if the pod is over: it has ended, or the cluster has ended it. */
bool pod_is_over(const struct pod *p);
/* Fills f with the reason why it is over, and its node. Returns -1. */
int pod_death(const struct pod *p, struct fail *f);
/* Fills f with the reason why it does not start (yet). Returns -1. */
int pod_trouble(const struct pod *p, const char *namespace, struct fail *f);

#endif
