"""Runs the steps of the deployment kit's README (deploy) with processes instead of containers.

Two PostgreSQL nodes, a migration, two servers, HAProxy and Prometheus run with the kit's files and environment. The script
sends a first request, evaluates every expression of the rules and the dashboard, and stops the primary. Runs as root in
separate namespaces (scripts/check-deploy), where the processes have the same names, ports and paths as in containers.

Usage: walk.py PROGRAM FOLDER COMPOSE: the program, a folder with a prepared copy of deploy, the resolved compose file.
"""

import glob
import json
import os
import re
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from static import expressions, metrics  # noqa: E402

PROGRAM, FOLDER, COMPOSE = sys.argv[1:]
KIT = f"{FOLDER}/deploy"
HOSTS = {
    "server-1": "10.84.0.11",
    "server-2": "10.84.0.12",
    "postgres-0": "10.84.0.20",
    "postgres-1": "10.84.0.21",
    "balancer": "172.30.84.10",
    "register.example": "172.30.84.10",
    "prometheus": "10.84.0.31",
}
# What the names of the cluster's services are.
SERVICES = {
    "server.trainee-register.svc.cluster.local": ["10.84.0.11", "10.84.0.12"],
    "balancer-metrics.trainee-register.svc.cluster.local": ["172.30.84.10"],
}
POSTGRES, HAPROXY, REGISTER, UNPRIVILEGED = 999, 99, 65532, 65534
POSTGRES_PROGRAMS = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))[-1]
# In the place of the image's own: it initialises an empty folder as the image does, and becomes the server.
ENTRY_POINT = """#!/bin/sh
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    echo "$POSTGRES_PASSWORD" > "$PGDATA.password"
    initdb --username postgres --pwfile "$PGDATA.password" --auth-host scram-sha-256 --auth-local trust > /dev/null
    rm "$PGDATA.password"
    program=$1; shift
    PGHOST=$SOCKETS pg_ctl -D "$PGDATA" -o "$(printf "'%s' " "$@") -c listen_addresses=" -w start > /dev/null
    PGHOST=$SOCKETS /etc/register-postgres/create-roles.sh > /dev/null
    pg_ctl -D "$PGDATA" -m fast -w stop > /dev/null
    set -- "$program" "$@"
fi
exec "$@"
"""


def say(line):
    print(f"deploy: {line}", flush=True)


def run(*command):
    subprocess.run(command, check=True)


def wait(what, condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            for log in sorted(glob.glob(f"{FOLDER}/*.log")):
                with open(log) as file:
                    print(f"== {log}", "".join(file.readlines()[-15:]), sep="\n", file=sys.stderr)
            sys.exit(f"deploy: after {seconds} s, still waiting until {what}")
        time.sleep(0.2)


def prepare_machine():
    """Addresses, names, users and folders of the containers."""
    run("ip", "link", "set", "lo", "up")
    for address in sorted(set(HOSTS.values())):
        run("ip", "address", "add", f"{address}/32", "dev", "lo")
    os.makedirs(f"{FOLDER}/etc")
    run("cp", "--archive", "/etc/.", f"{FOLDER}/etc")
    run("mount", "--bind", f"{FOLDER}/etc", "/etc")
    with open("/etc/hosts", "w") as file:
        file.writelines(f"{address} {name}\n" for name, address in {"localhost": "127.0.0.1", **HOSTS}.items())
    with open("/etc/resolv.conf.kit", "w") as file:
        file.write("nameserver 127.0.0.11\n")
    os.replace("/etc/resolv.conf.kit", "/etc/resolv.conf")
    with open("/etc/passwd") as file:
        others = [line for line in file if line.split(":")[0] != "postgres" and line.split(":")[2] != str(POSTGRES)]
    with open("/etc/passwd", "w") as file:
        file.writelines([*others, f"postgres:x:{POSTGRES}:{POSTGRES}::/:/bin/sh\n"])
    secrets = f"{KIT}/compose/secrets"
    for source, target in {
        f"{secrets}/database-ca.crt": "/etc/register/database-ca.crt",
        f"{secrets}/database-ca.crt ": "/etc/register-postgres-tls/ca.crt",
        f"{secrets}/postgres.crt": "/etc/register-postgres-tls/tls.crt",
        f"{secrets}/postgres.key": "/etc/register-postgres-tls/tls.key",
        f"{secrets}/balancer.pem": "/etc/haproxy/tls/balancer.pem",
    }.items():
        os.makedirs(os.path.dirname(target), exist_ok=True)
        run("cp", "--preserve=mode,ownership", source.strip(), target)
    shutil.copytree(f"{KIT}/postgres", "/etc/register-postgres")
    os.makedirs(f"{FOLDER}/bin")
    with open(f"{FOLDER}/bin/docker-entrypoint.sh", "w") as file:
        file.write(ENTRY_POINT)
    os.chmod(f"{FOLDER}/bin/docker-entrypoint.sh", 0o755)


def serve_names():
    """Answers for the DNS servers of Docker and of the cluster."""
    names = {name: [address] for name, address in HOSTS.items()} | SERVICES
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.11", 53))

    def answer():
        while True:
            query, client = server.recvfrom(4096)
            labels, at = [], 12
            while query[at]:
                labels.append(query[at + 1 : at + 1 + query[at]].decode())
                at += 1 + query[at]
            question = query[12 : at + 5]
            kind = struct.unpack("!H", query[at + 1 : at + 3])[0]
            known = names.get(".".join(labels))
            addresses = known if known and kind == 1 else []
            head = query[:2] + struct.pack("!HHHHH", 0x8180 if known else 0x8183, 1, len(addresses), 0, 0)
            records = b"".join(struct.pack("!HHHIH", 0xC00C, 1, 1, 1, 4) + socket.inet_aton(one) for one in addresses)
            server.sendto(head + question + records, client)

    threading.Thread(target=answer, daemon=True).start()


def environment_of(service):
    with open(COMPOSE) as file:
        found = yaml.safe_load(file)["services"][service]["environment"]
    return {name: str(value) for name, value in found.items()}


def start(name, user, command, environment=None):
    log = open(f"{FOLDER}/{name}.log", "a")
    identity = ["/usr/bin/setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    path = f"{FOLDER}/bin:{POSTGRES_PROGRAMS}:/usr/sbin:/usr/bin:/sbin:/bin"
    return subprocess.Popen([*identity, *command], stdout=log, stderr=log, env={"PATH": path, **(environment or {})}, cwd="/")


def node_environment(name, primary):
    data = f"{FOLDER}/{name}/data"
    return {**environment_of(name), "POSTGRES_PRIMARY": primary, "PGDATA": data, "SOCKETS": f"{FOLDER}/{name}"}


def start_node(name, primary):
    os.makedirs(f"{FOLDER}/{name}", exist_ok=True)
    os.chown(f"{FOLDER}/{name}", POSTGRES, POSTGRES)
    # Two nodes on one machine need an address and a folder each.
    own = ["-c", f"listen_addresses={HOSTS[name]}", "-c", f"unix_socket_directories={FOLDER}/{name}"]
    return start(name, POSTGRES, ["/etc/register-postgres/start.sh", *own], node_environment(name, primary))


def query(name, sql, **settings):
    environment = {"PATH": POSTGRES_PROGRAMS, "PGHOST": f"{FOLDER}/{name}", "PGUSER": "postgres", "PGDATABASE": "register", **settings}
    command = ["/usr/bin/setpriv", f"--reuid={POSTGRES}", f"--regid={POSTGRES}", "--clear-groups", f"{POSTGRES_PROGRAMS}/psql", "-AtXc", sql]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, cwd="/")
    return ended.stdout.strip() if ended.returncode == 0 else ended.stderr.strip()


def register(service, *arguments):
    """Runs a command of the program with the environment of a service."""
    command = ["/usr/bin/setpriv", f"--reuid={REGISTER}", f"--regid={REGISTER}", "--clear-groups", PROGRAM, *arguments]
    ended = subprocess.run(command, env=environment_of(service), capture_output=True, text=True, cwd="/")
    if ended.returncode != 0:
        sys.exit(f"deploy: {arguments}: {ended.stdout}{ended.stderr}")
    return ended.stdout.strip()


def fetch(url, data=None, **headers):
    """The status and the body of a reply; clients trust the kit's authority."""
    context = ssl.create_default_context(cafile=f"{KIT}/compose/secrets/clients-ca.crt")
    request = urllib.request.Request(url, data=data, headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(request, context=context if url.startswith("https") else None, timeout=20) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


def active_servers():
    found = re.search(r'^haproxy_backend_active_servers\{proxy="register"\} (\d+)', fetch("http://balancer:8405/metrics")[1], re.M)
    return int(found.group(1)) if found else None


def evaluate(expression):
    status, body = fetch("http://prometheus:9090/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
    if status != 200:
        sys.exit(f"deploy: {expression}: {body}")
    return json.loads(body)["data"]["result"]


def start_balancer(kit):
    command = ["haproxy", "-W", "-db", "-f", f"{KIT}/balancer/haproxy.cfg", "-f", f"{KIT}/{kit}/servers.cfg"]
    balancer = start("balancer", HAPROXY, command)
    wait(f"HAProxy of {kit} sees two servers", lambda: active_servers() == 2)
    return balancer


def start_prometheus(kit):
    folder = f"{FOLDER}/prometheus-{kit}"
    os.makedirs(folder)
    os.chown(folder, UNPRIVILEGED, UNPRIVILEGED)
    os.makedirs("/etc/prometheus", exist_ok=True)
    # Not to wait for so long.
    files = {f"{kit}/prometheus.yml": ("_interval: 15s", "_interval: 1s"), "monitoring/rules.yml": ("interval: 30s", "interval: 1s")}
    for source, (usual, short) in files.items():
        with open(f"{KIT}/{source}") as file:
            text = file.read()
        assert usual in text, source
        with open(f"/etc/prometheus/{os.path.basename(source)}", "w") as file:
            file.write(text.replace(usual, short))
    command = ["prometheus", "--config.file=/etc/prometheus/prometheus.yml", f"--storage.tsdb.path={folder}"]
    process = start("prometheus", UNPRIVILEGED, [*command, f"--web.listen-address={HOSTS['prometheus']}:9090"])
    wait(f"Prometheus of {kit} is ready", lambda: fetch("http://prometheus:9090/-/ready")[0] == 200)
    wait(f"Prometheus of {kit} scrapes three targets", lambda: len(evaluate("up == 1")) == 3)
    return process


def main():
    prepare_machine()
    serve_names()

    nodes = {name: start_node(name, "postgres-0") for name in ("postgres-1", "postgres-0")}
    wait("the primary serves", lambda: query("postgres-0", "SELECT 1") == "1")
    wait("the standby follows", lambda: query("postgres-0", "SELECT state FROM pg_stat_replication") == "streaming")
    of_register = {"PGHOST": "postgres-0", "PGUSER": "register", "PGPASSWORD": environment_of("server-1")["PGPASSWORD"]}
    refused = query("postgres-0", "SELECT 1", **of_register, PGSSLMODE="disable")
    if "no encryption" not in refused:
        sys.exit(f"deploy: the database does not refuse connections without TLS: {refused}")
    say("PostgreSQL accepts only TLS, and the standby follows")

    register("migrate", "migrate")
    assert register("migrate", "migrate", "--check") == "up to date"
    servers = []
    for name in ("server-1", "server-2"):
        address = HOSTS[name]
        own = {"REGISTER_LISTEN": f"{address}:8080", "REGISTER_OPERATOR_LISTEN": f"{address}:9464"}
        servers.append(start(name, REGISTER, [PROGRAM, "serve"], {**environment_of(name), **own}))
    for name in ("server-1", "server-2"):
        wait(f"{name} is ready", lambda name=name: fetch(f"http://{name}:9464/health/ready")[0] == 200)
    say("the schema is up to date, and two servers are ready")

    balancer = start_balancer("compose")
    register("server-1", "provider", "add", "--ukprn", "10012345", "--name", "A University", "--by", "walk")
    token = register("server-1", "token", "issue", "--provider", "10012345", "--name", "walk", "--by", "walk")
    with open("README.md") as file:
        body = re.search(r"-d '(\{\"data\".*\})'", file.read()).group(1)
    base = "https://register.example:8443/api"
    send = {"Authorization": f"Bearer {token}", "Content_Type": "application/json"}

    def create(number):
        changed = json.loads(body)
        changed["data"] |= {"provider_trainee_id": f"P-{number}", "first_names": f"Trainee{chr(65 + number)}"}
        changed["data"] |= {"date_of_birth": f"1999-04-{12 + number}", "email": f"t{number}@example.com"}
        return fetch(f"{base}/v2025.0/trainees", json.dumps(changed).encode(), **send)

    status, reply = create(0)
    if status != 201:
        sys.exit(f"deploy: the first request: {status} {reply}")
    trainee = json.loads(reply)["data"]["trainee_id"]
    assert fetch(f"{base}/v2026.1/trainees/{trainee}", **send)[0] == 200
    wait("the standby has the trainee", lambda: query("postgres-1", "SELECT count(*) FROM trainees") == "1")
    say("the first request succeeded through HAProxy with TLS, and the standby has the new record")

    for kit in ("compose", "kubernetes"):
        balancer.terminate()
        balancer.wait()
        balancer = start_balancer(kit)
        prometheus = start_prometheus(kit)

        def use_all():
            batch = fetch(f"{base}/v2026.1/trainees/batch", b'{"data":[]}', **send)[0]
            statuses = [fetch(f"{base}/v2026.1/trainees/{trainee}", **send)[0], fetch(f"{base}/v2026.1/trainees", **send)[0], batch]
            assert all(200 <= one < 500 for one in statuses), statuses
            groups = {one["metric"]["group"] for one in evaluate("register:slow_requests:ratio_rate5m")}
            return groups == {"trainee", "list", "batch"} and evaluate("register:failed_requests:ratio_rate5m")

        wait("each objective has a value", use_all)
        count, needed = 0, set()
        for place, expression in expressions():
            evaluate(expression)
            count += 1
            needed |= {name for name in metrics(expression) if ":" not in name}
        # There are no ALERTS as long as none is active.
        missing = {name for name in needed - {"ALERTS"} if not evaluate(f"count({name})")}
        if missing:
            sys.exit(f"deploy: no job exports {sorted(missing)}")
        # An alert on a label that no metric has would never fire. A status that no request had yet is no such label.
        selectors = {one for _, expression in expressions() for one in re.findall(r"[a-z_]+\{[^}]*\}", expression)}
        silent = {one for one in selectors if "status=~" not in one and "ALERTS" not in one and not evaluate(one)}
        if silent:
            sys.exit(f"deploy: no series has these labels: {sorted(silent)}")
        broken = [one for one in json.loads(fetch("http://prometheus:9090/api/v1/rules")[1])["data"]["groups"] for one in one["rules"] if one["health"] == "err"]
        if broken:
            sys.exit(f"deploy: Prometheus cannot evaluate {broken}")
        say(f"{kit}: Prometheus scrapes two servers and HAProxy, and evaluates {count} expressions over {len(needed)} metrics")
        prometheus.terminate()
        prometheus.wait()

    # Failover as described in the README.
    nodes["postgres-0"].send_signal(subprocess.signal.SIGQUIT)
    nodes["postgres-0"].wait()
    nodes["postgres-1"].send_signal(subprocess.signal.SIGINT)
    nodes["postgres-1"].wait()
    nodes["postgres-1"] = start_node("postgres-1", "postgres-1")
    wait("the standby serves again", lambda: query("postgres-1", "SELECT pg_is_in_recovery()") == "t")
    assert query("postgres-1", "SELECT pg_promote()") == "t"
    begun = time.monotonic()
    wait("writes are back", lambda: create(1)[0] == 201, 30)
    assert fetch(f"{base}/v2026.1/trainees/{trainee}", **send)[0] == 200
    say(f"the standby was promoted; writes work again after {time.monotonic() - begun:.1f} s")
    assert start_node("postgres-0", "postgres-1").wait() == 1, "a former primary started"
    shutil.rmtree(f"{FOLDER}/postgres-0/data")
    nodes["postgres-0"] = start_node("postgres-0", "postgres-1")
    wait("the former primary follows", lambda: query("postgres-1", "SELECT state FROM pg_stat_replication") == "streaming")
    say("the former primary cannot start with its old data, and follows as a standby with an empty folder")

    # Without a server the balancer answers by itself, which availability must count.
    for server in servers:
        server.kill()
    wait("HAProxy sees no server", lambda: active_servers() == 0)
    assert fetch(f"{base}/versions")[0] == 503
    failed = re.search(r'^haproxy_frontend_http_responses_total\{proxy="clients",code="5xx"\} (\d+)', fetch("http://balancer:8405/metrics")[1], re.M)
    assert failed and int(failed.group(1)) >= 1
    say("without servers, HAProxy answers 503 and counts the request")


main()
