"""Events of a stream to slices, and slices to answers in one stateful operator."""
