/* Logins of package indexes. A login is a secret of its host that no program names: the gate adds it to GET and HEAD
 * requests below the paths of the index, and refuses every other request to that host and port. */
#ifndef HUSK_MANAGER_GATE_LOGIN_H
#define HUSK_MANAGER_GATE_LOGIN_H

#include "manager/gate/secret-set.h"

/* Adds the path of an index, as it follows the host in a URL. The files of an index whose path ends with "simple" may be
 * beside that folder, so the folder above it is covered, but never a whole host: there "/packages/" and "/files/" are.
 * -EINVAL if servers could read the path in different ways. */
int login_add_path(struct gate_secret *s, const char *rest, size_t n);
/* The decoded path of a request, without its query; NULL unless it is plain. Servers read dots, semicolons, backslashes
 * and encoded separators in different ways, so none of them is passed on. Only characters of names may be encoded. There
 * are two exceptions: npm's "@scope%2fname", and what the settings have encoded. The caller owns it. */
char *login_path(const struct gate_secret *s, const char *target);
/* True if a decoded path is below one of the indexes. */
bool login_covers(const struct gate_secret *s, const char *path);

/* True if the host is one of an index with a login. */
bool login_guards(const struct secret_set *set, const char *host, uint16_t port);
/* The login for a request, or NULL. */
struct gate_secret *login_for(const struct secret_set *set, const char *host, uint16_t port, const char *target);
/* Fields that pass to the index and back. Others could change the method or the path, or carry a session of the
 * login. Names are in lower case. */
bool login_passes_up(const char *field);
bool login_passes_down(const char *field);

#endif
