"""The verbs of muntin: the body of each is the list of its steps, in order."""
