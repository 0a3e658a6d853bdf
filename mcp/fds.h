/* stdout is sacred: the protocol gets private descriptors, and whatever else writes to fd 1 ends up on
 * stderr. */
#ifndef HUSK_MCP_FDS_H
#define HUSK_MCP_FDS_H

/* Moves fd 0 and 1 to private ones (close-on-exec, 3 or above), which the caller owns; leaves /dev/null
 * and stderr in their places. 0 or -errno. */
int fds_protect(int *ret_in, int *ret_out);

#endif
