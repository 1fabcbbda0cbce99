"""Okabe and Ito's colours, which the colour-blind can distinguish, neighbours far apart."""

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
