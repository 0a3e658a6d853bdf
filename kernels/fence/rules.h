/* The fence as messages to nf_tables: one table `inet husk`, in the order that the Linux kernel requires.
 *
 * The rules apply only to traffic from and to the bridge husk0. A session may resolve names (port 53) anywhere, and
 * reach every public address and everything in an opening. It cannot reach private, shared, link-local or multicast
 * addresses, or anything that the machine itself listens on, by any address. New connections are counted by source.
 * Connections into a session are rejected. */
#ifndef HUSK_KERNELS_FENCE_RULES_H
#define HUSK_KERNELS_FENCE_RULES_H

#include "base/buf.h"
#include "kernels/fence/opening.h"

#define FENCE_TABLE "husk"
#define FENCE_BRIDGE "husk0"
/* Chain of the openings: the comment of each rule is the text of opening_write(). */
#define FENCE_OPENINGS "openings"
/* Connections that one session may have at a time, including UDP: enough for any installer, and a fraction of what
 * a machine can track. */
#define FENCE_CONNECTIONS 1024

/* Rejected connections fail at once; on a Linux kernel without `reject`, they time out. */
enum refusal { REFUSE_REJECT, REFUSE_DROP };

/* Adds the table, its chains, sets and rules. Does not remove an older table. */
void rules_write(struct buf *b, const struct openings *openings, enum refusal refusal);
/* A message for the table as a whole: NFT_MSG_NEWTABLE or NFT_MSG_DELTABLE. */
void rules_table(struct buf *b, uint16_t type, uint16_t flags);
/* The comment of a rule, as opening_write() wrote it; NULL if it has none. data, n: its user data. */
const char *rules_comment(const uint8_t *data, size_t n);

#endif
