/* weir/version.h - the version of the headers. The build reads it from here, its only
 * definition. */
#ifndef WEIR_VERSION_H
#define WEIR_VERSION_H

/* ---- version of the headers ---- */

#define WEIR_VERSION "1.0.0"
#define WEIR_VERSION_MAJOR 1
#define WEIR_VERSION_MINOR 0
#define WEIR_VERSION_PATCH 0

/* One number, for comparisons: 11203 is version 1.12.3. */
#define WEIR_VERSION_NUMBER                                                                        \
    (WEIR_VERSION_MAJOR * 10000 + WEIR_VERSION_MINOR * 100 + WEIR_VERSION_PATCH)

#endif
