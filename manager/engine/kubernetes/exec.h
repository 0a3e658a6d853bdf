/* The stream to PID 1: a WebSocket exec of `husk-client attach --beside` in the second container of its pod.
 *
 * The subprotocol is v4.channel.k8s.io. With v5, a kubelet that is killed looks like success, and pings are answered by
 * the API server even if it cannot reach the node. Only PID 1's own frames prove anything about a run. */
#ifndef HUSK_MANAGER_ENGINE_KUBERNETES_EXEC_H
#define HUSK_MANAGER_ENGINE_KUBERNETES_EXEC_H

#include "base/buf.h"
#include "manager/engine/engine.h"
#include "manager/engine/kubernetes/proxy.h"

struct exec;

struct exec_spec {
	struct loop *loop;
	struct proxy *proxy;
	const char *namespace, *pod;
	/* A program to run in this container of the pod, without input; NULL = the stream to PID 1. */
	const char *container;
	const char *const *command; /* ends with NULL; borrowed for the call */
	/* The stream is open; bytes may follow. May be NULL. */
	void (*on_open)(void *ctx);
	struct stream_handler handler; /* its on_closed is also called if the stream cannot be opened */
};

struct exec *exec_new(const struct exec_spec *spec);
/* Gives the stream another owner. Bytes that have arrived are passed on in the next turn of the loop. */
void exec_set_handler(struct exec *x, const struct stream_handler *handler);
/* The status of HTTP with which the stream was refused; 101 = it was opened, 0 = there was no answer yet. */
int exec_status(const struct exec *x);
int exec_write(struct exec *x, const void *data, size_t n);
void exec_pause(struct exec *x, bool paused);
/* Accepts NULL, returns NULL. */
struct exec *exec_free(struct exec *x);

/* --- pure, for tests ----------------------------------------------------------------------------------------------- */
#define EXEC_WORDS_MAX 4096u
/* Takes one message: passes output on, and keeps what the command wrote to its standard error in *words. */
void exec_take_message(const void *data, size_t n, void (*on_output)(void *ctx, const void *data, size_t n), void *ctx,
		       struct buf *words);
/* Fills f for a stream that has ended after these words. Returns -1. */
int exec_explain_end(struct fail *f, const void *words, size_t n, int code);

#endif
