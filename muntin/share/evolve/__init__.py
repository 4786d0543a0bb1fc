"""From a plan that runs to the next one."""
