"""Contracts and composition engine of dsh-mnemon: Sources, Strategies, Views.

Nothing is re-exported here, so that importing the package costs nothing. Plugin authors start at
`dsh_mnemon_core.sdk` and `dsh_mnemon_core.fiber`, Hosts at `dsh_mnemon_core.runtime`,
`dsh_mnemon_core.turns` and `dsh_mnemon_core.wake`.
"""
