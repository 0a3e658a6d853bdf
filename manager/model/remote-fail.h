/* Failures for clients on other machines. Sentences of some kinds of failures come from programs of the host and can
 * contain its paths, so such a client gets a neutral sentence instead. */
#ifndef HUSK_MANAGER_MODEL_REMOTE_FAIL_H
#define HUSK_MANAGER_MODEL_REMOTE_FAIL_H

#include "base/fail.h"

/* Writes the failure into ret, as a client may see it. Kind and cause stay. The caller releases it. */
void fail_for_client(struct fail *ret, const struct fail *f, bool remote);

#endif
