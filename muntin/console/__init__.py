"""What a terminal shows while work runs."""
