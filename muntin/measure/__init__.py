"""What Spark and muntin cost on this machine: `compare`, `calibrate`, and how both measure."""
