/* Package indexes that need a login, from the settings: each login becomes a secret of the index's host, which the gate
 * adds to requests (manager/gate/login.h), and an installer gets the settings without logins. Nothing in this file uses
 * the network. */
#ifndef HUSK_MANAGER_DEPS_LOGINS_H
#define HUSK_MANAGER_DEPS_LOGINS_H

#include "base/strv.h"
#include "manager/gate/secret-set.h"

/* Logins of one install. */
#define LOGINS_MAX 8

/* Parses index settings (NAME=value). Each URL with a login adds one to the set, and env gets the settings without
 * logins. -1 with f if a URL is not valid, its host is not a name, or there are too many; the message never contains a
 * login. */
int logins_take(struct secret_set *ret, struct strv *env, const struct strv *sources, struct fail *f);
/* The hosts with a login, each once, as "name:port". */
void logins_hosts(const struct secret_set *set, struct strv *ret);

#endif
