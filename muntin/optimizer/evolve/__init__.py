"""Plans a workload again while its previous plan runs."""
