/* pthread.h - types that headers of the evaluator mention; WebAssembly has one thread. */
#ifndef WEIR_WEB_PTHREAD_H
#define WEIR_WEB_PTHREAD_H

#define __NEED_pthread_t
#define __NEED_pthread_cond_t
#define __NEED_pthread_mutex_t
#include <bits/alltypes.h>

#endif
