/* A bench for managers over a fake engine, as faces see them. Its own store is not used: each manager opens one in
 * the bench's folder, by settings that name no other place. */
#ifndef HUSK_TESTS_MANAGER_BENCH_H
#define HUSK_TESTS_MANAGER_BENCH_H

#include "tests/fake-engine/fake-pid1.h"
#include "tests/unit/store-bench.h"

/* The fake is new, with no warm pool unless WARM_POOL is set afterwards. manager_bench_end() frees it. */
struct fake *manager_bench_begin(struct bench *b);
/* Reads b->config from the environment, which the caller may have extended. */
void manager_bench_load(struct bench *b);
/* After manager_free(). */
void manager_bench_end(struct bench *b, struct fake *fake);

#endif
