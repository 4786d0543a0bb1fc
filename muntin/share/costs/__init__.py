"""What plans cost: the model, operations per slice, lower bounds."""
