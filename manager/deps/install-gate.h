/* The gate of an install. If the operator has a list of hosts, the container has no network, and reaches these hosts and
 * the indexes that the settings name. An index with a login is reached through the gate in any case: the gate adds the
 * login, which never enters the container. */
#ifndef HUSK_MANAGER_DEPS_INSTALL_GATE_H
#define HUSK_MANAGER_DEPS_INSTALL_GATE_H

#include "manager/gate/gate.h"
#include "manager/gate/secret-set.h"
#include "manager/model/config.h"

struct install_gate;

struct install_gate_spec {
	struct loop *loop;
	const struct config *config;
	const char *container;
	struct dispatch *dispatch; /* of a line that is not open yet */
	const struct strv *env;	   /* the index settings as the installer sees them */
	struct secret_set *logins; /* kept alive */
	/* The container may be started; or f. Never called from inside install_gate_new(). */
	void (*on_ready)(void *ctx, const struct fail *f);
	void *ctx;
};

/* NULL with f unset if the install needs none; on_ready() is then not called. */
struct install_gate *install_gate_new(const struct install_gate_spec *spec, struct fail *f);
/* Accepts NULL, returns NULL. */
struct install_gate *install_gate_free(struct install_gate *g);

/* A certificate that programs must trust; NULL = none. */
const char *install_gate_authority(const struct install_gate *g);
/* "name:address" for each host that is reached through the gate although the container has a network. */
const struct strv *install_gate_hosts(const struct install_gate *g);
/* Names that must not be reached through a proxy. */
const struct strv *install_gate_direct(const struct install_gate *g);
/* "https://host:8443" for each index with a login. */
void install_gate_origins(const struct install_gate *g, struct strv *ret);
/* Why an index with a login could not be read, as a sentence without a full stop, or NULL. The caller owns it. */
char *install_gate_trouble(const struct install_gate *g);
/* As gate_take_note(). */
char *install_gate_take_note(struct install_gate *g);

#endif
