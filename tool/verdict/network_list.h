/* network_list.h - a file of networks as an exact set: filter --strict and check with --cidr. */
#ifndef WEIR_VERDICT_NETWORK_LIST_H
#define WEIR_VERDICT_NETWORK_LIST_H

#include "cli/inputs.h"
#include "store/store.h"

/* What was read. */
struct network_list_counts {
    const struct records *records; /* how lines are read */
    uint64_t networks, skipped, masked;
    uint64_t skipped_line, masked_line; /* the first */
};

/* For store_options.set, with `how` a struct network_list_counts. A key is in the set if its
 * address or network is inside one network of the file. */
extern const struct store_set network_list_set;

/* Print notes on skipped and masked lines. */
void network_list_tell(const struct network_list_counts *c, const char *name);

#endif
