/* A bench for managers over a fake engine, as their faces see them. Its own store is not used: each manager opens one in the bench's
 * folder, by settings that know no other place. */
#ifndef HUSK_TESTS_MANAGER_BENCH_H
#define HUSK_TESTS_MANAGER_BENCH_H

#include "tests/fake-engine/fake-pid1.h"
#include "tests/unit/store-bench.h"

/* The fake is as new, with no warm pool unless WARM_POOL is set afterwards; it goes with manager_bench_end(). */
struct fake *manager_bench_begin(struct bench *b);
/* b->config from the environment, which the caller may have added to. */
void manager_bench_load(struct bench *b);
/* After manager_free(). */
void manager_bench_end(struct bench *b, struct fake *fake);

#endif
