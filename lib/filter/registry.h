/* registry.h - name -> filter. */
#ifndef WEIR_FILTER_REGISTRY_H
#define WEIR_FILTER_REGISTRY_H

#include "base/text.h"

struct weir_ops;

/* NULL if there is none. */
const struct weir_ops *registry_at(size_t i);
const struct weir_ops *registry_find(struct span name);
const struct weir_ops *registry_default(void);

#endif
