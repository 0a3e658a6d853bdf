/* One container that installs a set of dependencies. It is started, gets a frame that says what to install, and
 * reports its output. It is kept until install_free(), so that its result can be copied out. An index with a login is
 * reached through the gate, so that the login never enters the container. */
#ifndef HUSK_MANAGER_DEPS_INSTALL_H
#define HUSK_MANAGER_DEPS_INSTALL_H

#include "base/strv.h"
#include "manager/engine/engine.h"
#include "manager/model/config.h"

struct install;

/* Strings must outlive the start of the container, except where borrowed. */
struct install_spec {
	struct loop *loop;
	struct engine *engine;
	const struct config *config;
	const char *image;
	const char *store, *owner;  /* for the container's labels */
	const char *wanted;	    /* JSON: name -> version */
	const struct strv *sources; /* NAME=value with logins, which stay in this process; borrowed for the call */
	/* Whole lines, cleaned, with logins replaced by stars. */
	void (*on_output)(void *ctx, const char *text, size_t n);
	/* Called exactly once, never from inside a function of this file: what is installed now (JSON: name ->
	 * version) and its size in bytes, or f. */
	void (*on_done)(void *ctx, const char *versions, uint64_t size, const struct fail *f);
	void *ctx;
};

/* A failure is reported later, by on_done. The config and engine must outlive the install. */
struct install *install_start(const struct install_spec *spec);
/* The container's name. */
const char *install_container(const struct install *i);
/* Removes the container in any state, without waiting. Accepts NULL, returns NULL. */
struct install *install_free(struct install *i);

#endif
