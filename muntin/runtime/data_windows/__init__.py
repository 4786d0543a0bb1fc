"""Data windows: the discretizer finds them in records, the cutter shares their slices (Cutty)."""
