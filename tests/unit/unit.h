/* Includes for every cmocka test. */
#ifndef HUSK_TESTS_UNIT_H
#define HUSK_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
