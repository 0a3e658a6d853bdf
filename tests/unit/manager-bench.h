/* A bench for tests that use managers on a fake engine as faces do. The bench's own store is not used: each manager
 * opens a store in the bench's folder, which is the default place. */
#ifndef HUSK_TESTS_MANAGER_BENCH_H
#define HUSK_TESTS_MANAGER_BENCH_H

#include "tests/fake-engine/fake-pid1.h"
#include "tests/unit/store-bench.h"

/* The fake is new, with no warm pool unless WARM_POOL is set afterwards. manager_bench_end() frees it. */
struct fake *manager_bench_begin(struct bench *b);
/* Reads b->config from the environment, which the caller may have extended. */
void manager_bench_load(struct bench *b);
/* Call it after manager_free(). */
void manager_bench_end(struct bench *b, struct fake *fake);

#endif
