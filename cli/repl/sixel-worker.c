/* libsixel is loaded only here. A hostile picture may exploit it, so from then on the process can only read,
 * write, allocate a little memory and exit. */
#include <sixel.h>

#include "base/confine.h"
#include "base/library.h"
#include "cli/repl/sixel.h"

#define MEMORY_MAX (1ul << 30)
#define SECONDS_MAX 5

#define FUNCTIONS(X)                                                                                                   \
	X(sixel_encoder_new)                                                                                           \
	X(sixel_encoder_encode)                                                                                        \
	X(sixel_encoder_unref)

static struct {
	FUNCTIONS(LIBRARY_POINTER)
} lib;

static struct library libsixel = LIBRARY(FUNCTIONS, "libhusk-sixel.so.1", "libsixel.so.1", "libsixel.1.dylib");

int sixel_worker(void)
{
	sixel_encoder_t *encoder = NULL;
	const struct confinement limits = { .memory = MEMORY_MAX, .cpu_seconds = SECONDS_MAX };
	if (!library_load(&libsixel) || !confine(&limits) || SIXEL_FAILED(lib.sixel_encoder_new(&encoder, NULL)))
		return 1;
	SIXELSTATUS status = lib.sixel_encoder_encode(encoder, "-");
	lib.sixel_encoder_unref(encoder);
	return SIXEL_FAILED(status) ? 1 : 0;
}
