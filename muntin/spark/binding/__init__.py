"""A plan meets its data: relations, types, samples."""
