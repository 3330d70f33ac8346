"""The tools that ``beside_others`` measures, each set up as its own documentation says."""
