/* Loads what the certificates of hosts are verified with, in a worker job: reading a bundle takes milliseconds. */
#ifndef HUSK_MANAGER_GATE_VERIFY_H
#define HUSK_MANAGER_GATE_VERIFY_H

#include "base/loop.h"
#include "base/tls.h"

struct verify_load;

/* ca_file NULL = the system's authorities. on_done() gets the context, which it may keep with tls_context_ref(), or f.
 * The load is freed afterwards. */
struct verify_load *verify_load_start(struct loop *loop, const char *ca_file,
				      void (*on_done)(void *ctx, struct tls_context *context, const struct fail *f),
				      void *ctx);
/* on_done() is not called any more. Accepts NULL, returns NULL. */
struct verify_load *verify_load_cancel(struct verify_load *l);

#endif
