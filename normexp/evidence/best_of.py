"""How a target begins that is the best value of an arm: `best of ARM`. Names are checked without what reads claims."""

BEST_OF = "best of "
