/* A store for each test, and the answer of its last call. */
#ifndef HUSK_TESTS_STORE_RIG_H
#define HUSK_TESTS_STORE_RIG_H

#include "tests/unit/store-bench.h"
#include "tests/unit/unit.h"

static struct bench b;
static struct answer a;

UNUSED static int setup(void **state)
{
	bench_init(&b);
	return 0;
}

UNUSED static int teardown(void **state)
{
	answer_release(&a);
	bench_release(&b);
	return 0;
}

#endif
