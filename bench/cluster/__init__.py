"""Commonplace on many machines, all of them on this one: what `python -m bench chaos --database cluster` hurts.

Three hosts hold a MariaDB node of a Galera cluster, a Redis and a Sentinel each; two of them a web and a worker with a
scheduler besides. HAProxy stands before the web, and before the databases, where it lets all write to one node and
goes to another one when that does not serve. Needs Debian's mariadb-server, galera-4, rsync, redis-server, haproxy.
"""
