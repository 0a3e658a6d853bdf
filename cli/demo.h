/* `husk demo`: a tour through the real server, spoken to as any client would. */
#ifndef HUSK_CLI_DEMO_H
#define HUSK_CLI_DEMO_H

/* Runs it to its end and prints to stdout. Returns the exit code: 0, or 111 with the cause and the next
 * step on stderr. */
int demo_run(const char *env_file);

#endif
