/* stable_settings.h - K and P for a ceiling on false positives (Bhoraskar et
 * al. 2013 set 20 %), for a known mix of classes.
 *
 * More P than the ceiling asks for only forgets sooner, so for each K it is the least
 * that will do; of those, the K that remembers most keys on a stream without end
 * (stable_remembered). */
#ifndef WEIR_TESTS_PAPERS_STABLE_SETTINGS_H
#define WEIR_TESTS_PAPERS_STABLE_SETTINGS_H

#include "theory/stable_run.h"
#include "theory/stable.h"

struct settings {
    uint64_t k, decay;
    double error;      /* where it settles */
    double remembered; /* keys; 0 if no K up to the most keeps the ceiling */
};

struct settings stable_settings(const struct stable *s, double error, uint64_t k_most,
                                uint64_t decay_most);

#endif
