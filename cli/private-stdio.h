/* stdout is sacred: the protocol gets descriptors of its own, and whatever else writes to fd 1 ends up on stderr. */
#ifndef HUSK_CLI_PRIVATE_STDIO_H
#define HUSK_CLI_PRIVATE_STDIO_H

/* Moves fd 0 and 1 to 3 or above (close-on-exec), which the caller then owns, and puts /dev/null and stderr in their places.
 * 0 or -errno. */
int private_stdio(int *ret_in, int *ret_out);
/* Puts /dev/null in the place of closed standard descriptors: the next open() would get their numbers, and be mistaken for them. 0 or
 * -errno. */
int stdio_fill_gaps(void);

#endif
