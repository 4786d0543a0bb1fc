"""Where the answers of a stream go."""
