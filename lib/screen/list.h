/* list.h - every screen, in the order in which they are listed to people; the
 * first is the default. */
SCREEN(cache)
SCREEN(dabf)
SCREEN(1bf)
SCREEN(strict)
SCREEN(none)
