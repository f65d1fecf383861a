/* list.h - every sketch, in the order in which they are listed to people. */
SKETCH(count_min)
SKETCH(top)
SKETCH(heavykeeper)
