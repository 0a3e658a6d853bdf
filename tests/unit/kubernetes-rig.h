/* For tests of manager/engine/kubernetes/: an API server inside the test, on a unix socket, with pods in memory. Its
 * `kubectl proxy` is a script that links the socket. The test decides what each request is answered. */
#ifndef HUSK_TESTS_KUBERNETES_RIG_H
#define HUSK_TESTS_KUBERNETES_RIG_H

#include <jansson.h>

#include "base/strv.h"
#include "http/server.h"
#include "http/websocket.h"
#include "manager/engine/open.h"
#include "manager/model/config.h"

/* A request that is answered differently: the first entry whose method and part of the target match. */
struct kube_rule {
	const char *method, *part; /* part NULL = any target */
	int status;		   /* 0 = the connection is closed in the middle of the answer; -1 = never answered */
	const char *body;
	unsigned times; /* 0 = always */
};

struct kube_rig {
	struct loop *loop;
	struct engine *engine;
	struct config config;
	char folder[64], socket[96], helper[96];
	struct http_server *server;
	struct kube_rule rules[4];
	struct strv requests; /* "METHOD TARGET", as they came */
	struct strv bodies;   /* of the same requests; "" = none */
	json_t *pods;	      /* name -> pod */
	unsigned version;
	struct http_request *watch; /* the watch under way */
	struct http_request *held[8];
	size_t n_held;
	struct websocket *exec; /* the last exec */
	struct buf exec_got;
	unsigned execs, execs_open, execs_most;
	const char *protocol;	 /* of the exec's answer */
	bool keep_deleted;	 /* a deleted pod stays until the test removes it */
	const char *answer_node; /* a new pod is scheduled to this node at once; NULL = it stays pending */
	/* results */
	int created, removed;
	char id[65];
	struct fail fail;
	struct buf got;
	int closed;
	struct strv events; /* "die NAME why…", "destroy NAME" */
};

/* script: what the fake kubectl does after it has linked the socket; NULL = it says that it serves, and stays. */
void kube_rig_init(struct kube_rig *rig, const char *script);
void kube_rig_release(struct kube_rig *rig);
/* Runs the loop until *flag is not 0; fails after 5 s. */
void kube_rig_until(struct kube_rig *rig, const int *flag);
/* Runs the loop until a request that contains this text has come `n` times. */
void kube_rig_until_request(struct kube_rig *rig, const char *text, unsigned n);
unsigned kube_rig_requests(const struct kube_rig *rig, const char *text);
/* Runs the loop until nothing more happens for the time being. */
void kube_rig_settle(struct kube_rig *rig);
/* Changes the status of a pod (JSON), and tells the watch. */
void kube_rig_status(struct kube_rig *rig, const char *pod, const char *node, const char *status);
/* Removes the pod; tell: with an event. */
void kube_rig_remove(struct kube_rig *rig, const char *pod, bool tell);
/* Sends a line to the watch. */
void kube_rig_line(struct kube_rig *rig, const char *line);
/* Starts a create with this name; results are in the rig. */
struct engine_task *kube_rig_create(struct kube_rig *rig, const char *name, bool network);
struct engine_task *kube_rig_delete(struct kube_rig *rig, const char *name, const char *store, const char *mark);
struct stream_handler kube_rig_stream(struct kube_rig *rig);
struct watch_handler kube_rig_events(struct kube_rig *rig);

#endif
