"""The command line (see `dsh_mnemon_host.cli.main`)."""
