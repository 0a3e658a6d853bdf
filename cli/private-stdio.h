/* Only the protocol may write to stdout: it gets private descriptors, and other writes to fd 1 go to stderr. */
#ifndef HUSK_CLI_PRIVATE_STDIO_H
#define HUSK_CLI_PRIVATE_STDIO_H

/* Moves fd 0 and 1 to numbers from 3 (close-on-exec), which the caller owns. fd 0 then is /dev/null and fd 1 is stderr.
 * Returns 0 or -errno. */
int private_stdio(int *ret_in, int *ret_out);
/* Replaces closed standard descriptors with /dev/null. Otherwise the next open() would get their numbers. Returns 0 or
 * -errno. */
int stdio_fill_gaps(void);

#endif
