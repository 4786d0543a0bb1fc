"""Windows: periodic windows and data windows."""
