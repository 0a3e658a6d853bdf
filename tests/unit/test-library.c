/* base/library: shared libraries that are loaded when they are first needed. */
#include <dlfcn.h>
#include <sodium.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/library.h"
#include "manager/files/digest.h"
#include "tests/unit/unit.h"

#define FUNCTIONS(X) X(cos)
double cos(double);

static struct {
	FUNCTIONS(LIBRARY_POINTER)
} lib;

/* Replaces the C library's function: libcrypto is not installed here. */
void *dlopen(const char *name, int flags)
{
	static void *(*real)(const char *, int);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "dlopen");
	return name && strstr(name, "crypto") ? NULL : real(name, flags);
}

static void the_first_existing_name_is_loaded(void **state)
{
	struct library libm = LIBRARY(FUNCTIONS, "libhusk-no-such-library.so.1", "libm.so.6");
	assert_true(library_load(&libm));
	assert_true(lib.cos(0) == 1);
	assert_true(library_load(&libm));
}

static void a_missing_library_is_reported(void **state)
{
	struct library missing = LIBRARY(FUNCTIONS, "libhusk-no-such-library.so.1");
	assert_false(library_load(&missing));
}

static void a_library_without_the_function_is_not_used(void **state)
{
	struct library wrong = LIBRARY(FUNCTIONS, "libcmocka.so.0");
	assert_false(library_load(&wrong));
}

static bool refuse(void)
{
	return false;
}

static void a_library_that_does_not_start_is_not_used(void **state)
{
	struct library libm = LIBRARY(FUNCTIONS, "libm.so.6");
	libm.start = refuse;
	assert_false(library_load(&libm));
}

/* The hash is the SHA-256 of the hashes of the pieces, as described in digest.h. */
static void large_content_is_hashed_without_libcrypto(void **state)
{
	const size_t size = DIGEST_PIECE + 1000;
	unsigned char pieces[64], raw[32];
	char expected[DIGEST_SIZE], found[DIGEST_SIZE];
	AUTO(freep) unsigned char *data = calloc(1, size);
	crypto_hash_sha256(pieces, data, DIGEST_PIECE);
	crypto_hash_sha256(pieces + 32, data + DIGEST_PIECE, size - DIGEST_PIECE);
	crypto_hash_sha256(raw, pieces, sizeof(pieces));
	sodium_bin2hex(expected, sizeof(expected), raw, sizeof(raw));
	struct digest *d = digest_new(size);
	digest_add(d, data, size);
	digest_end(d, found);
	digest_free(d);
	assert_string_equal(found, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_existing_name_is_loaded),
		cmocka_unit_test(a_missing_library_is_reported),
		cmocka_unit_test(a_library_without_the_function_is_not_used),
		cmocka_unit_test(a_library_that_does_not_start_is_not_used),
		cmocka_unit_test(large_content_is_hashed_without_libcrypto),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
