"""Single conditions of WHERE and ON: how they are spelled, and what they compare."""
