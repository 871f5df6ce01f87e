"""What running on a cluster asks for: locks across hosts, walltime, this workflow's jobs, native options, a doctor."""
