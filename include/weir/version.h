/* weir/version.h - the version of the headers. The build reads it from here, its only
 * definition. */
#ifndef WEIR_VERSION_H
#define WEIR_VERSION_H

/* ---- version of the headers ---- */

#define WEIR_VERSION "0.9.0"
#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 9
#define WEIR_VERSION_PATCH 0

/* One number, for comparisons: 1203 is version 0.12.3. */
#define WEIR_VERSION_NUMBER                                                                        \
    (WEIR_VERSION_MAJOR * 10000 + WEIR_VERSION_MINOR * 100 + WEIR_VERSION_PATCH)

#endif
