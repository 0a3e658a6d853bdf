/* A real Postgres for one test: Debian's binaries, a folder in /tmp, a unix socket there, no port. Without the
 * binaries the test fails and names what to install. */
#ifndef HUSK_TESTS_POSTGRES_SERVER_H
#define HUSK_TESTS_POSTGRES_SERVER_H

#include <stdbool.h>

/* Makes its folder and starts it; the address of its database. */
const char *postgres_start(void);
/* Kills it at once, or lets it close, waits for its end, and removes its folder. */
void postgres_end(void);

/* Faults: kill it like a power cut, start it again, stop or continue all its processes. */
void postgres_kill(void);
void postgres_restart(void);
void postgres_signal_all(int signo);

#endif
