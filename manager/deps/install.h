/* One container that installs a set of dependencies: started, told what to install by a frame, listened to, and kept until it is
 * freed so that its result can be copied out. An index with a login is relayed to it: the login stays on this side. */
#ifndef HUSK_MANAGER_DEPS_INSTALL_H
#define HUSK_MANAGER_DEPS_INSTALL_H

#include "base/strv.h"
#include "manager/engine/engine.h"
#include "manager/model/config.h"

struct install;

struct install_spec {
	struct loop *loop;
	struct engine *engine;
	const struct config *config;
	const char *image;
	const char *store, *owner;  /* for the container's labels */
	const char *wanted;	    /* JSON: name -> version */
	const struct strv *sources; /* NAME=value, with logins, which stay here; borrowed for the call */
	/* Whole lines, cleaned, logins starred out. */
	void (*on_output)(void *ctx, const char *text, size_t n);
	/* Exactly once, never from inside another call: what is installed now (JSON: name -> version) and its bytes, or f. */
	void (*on_done)(void *ctx, const char *versions, uint64_t size, const struct fail *f);
	void *ctx;
};

/* Never fails at once. The config and engine must outlive it. */
struct install *install_start(const struct install_spec *spec);
/* The container's name. */
const char *install_container(const struct install *i);
/* Has the container removed, without waiting, whatever state it is in. Accepts NULL, returns NULL. */
struct install *install_free(struct install *i);

#endif
