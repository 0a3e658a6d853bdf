/* A real Postgres for one test: Debian's binaries, a folder in /tmp, a unix socket there, no port. Without the
 * binaries the test fails and names what to install. */
#ifndef HUSK_TESTS_POSTGRES_SERVER_H
#define HUSK_TESTS_POSTGRES_SERVER_H

#include <stdbool.h>

/* Makes the server's folder, starts the server and returns the address of its database. */
const char *postgres_start(void);
/* Ends the server, waits for its end, and removes its folder. */
void postgres_end(void);

/* Faults: kill the server as a power cut would, start it again, stop or continue all its processes. */
void postgres_kill(void);
void postgres_restart(void);
void postgres_signal_all(int signo);

#endif
