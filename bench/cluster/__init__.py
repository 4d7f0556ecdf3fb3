"""Commonplace on many hosts, all simulated on this machine: the target of `python -m bench chaos --database cluster`.

Three hosts each run a MariaDB node of a Galera cluster, a Redis and a Sentinel; two of them also a web, and a worker
with a scheduler. HAProxy is in front of the web and of the databases, where it sends all traffic to one node and
switches to another one if that fails. Needs Debian's mariadb-server, galera-4, rsync, redis-server, haproxy.
"""
