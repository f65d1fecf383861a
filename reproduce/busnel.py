"""Busnel, Gillet 2019 (DABF): Figures 1-4."""


def write(doc):
    doc.add("## Busnel and Gillet 2019: DABF", "Not redone yet: the screen is not part of weir yet.")
    doc.count("Busnel and Gillet 2019, Figures 1-4", "not redone yet")
