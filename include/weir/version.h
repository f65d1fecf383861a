/* weir/version.h - which version this is. The build reads it from here; nothing
 * else says it. */
#ifndef WEIR_VERSION_H
#define WEIR_VERSION_H

#define WEIR_VERSION "0.9.0"
#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 9
#define WEIR_VERSION_PATCH 0

/* To compare: 0.12.3 is 1203. weir_version() tells that of the library in use. */
#define WEIR_VERSION_NUMBER                                                                        \
    (WEIR_VERSION_MAJOR * 10000 + WEIR_VERSION_MINOR * 100 + WEIR_VERSION_PATCH)

#endif
