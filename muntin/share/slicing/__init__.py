"""Where to cut the stream: edges of windows, and the ways to place them."""
