"""Static checks of the deployment kit (deploy). Prints all breaches, and fails if there are any.

Usage: static.py COMPOSE, where COMPOSE is the output of `docker-compose config`.
"""

import json
import os
import re
import subprocess
import sys

import yaml

KIT = "deploy"
# The oldest and newest Kubernetes versions that the manifests support.
KUBERNETES = ["1.28.0", "1.37.0"]
MANIFESTS = ["namespace", "network-policies", "postgres", "migrate", "server", "balancer", "monitoring"]
KEYWORDS = {"and", "or", "unless", "bool", "offset", "inf", "nan"}

breaches = []


def require(condition, breach):
    if not condition:
        breaches.append(breach)


def load(path):
    with open(f"{KIT}/{path}") as file:
        return list(yaml.safe_load_all(file))


def metrics(expression):
    """The names of metrics in an expression: what is left when labels, groupings and functions are taken away."""
    text = re.sub(r'"[^"]*"', '""', expression)
    text = re.sub(r"\{[^}]*\}|\[[^]]*\]", " ", text)
    text = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", text)
    names = re.findall(r"(?<![\w:.])([A-Za-z_:][\w:]*)\b(?!\s*\()", text)
    return {name for name in names if name.lower() not in KEYWORDS}


def expressions():
    """Every expression of the rules and of the dashboard, with its place."""
    for group in load("monitoring/rules.yml")[0]["groups"]:
        for rule in group["rules"]:
            yield rule.get("alert") or rule["record"], rule["expr"]
    with open(f"{KIT}/monitoring/grafana/dashboard.json") as file:
        for panel in json.load(file)["panels"]:
            for target in panel["targets"]:
                yield f"panel {panel['title']}", target["expr"].replace("$__rate_interval", "1m")


def check_monitoring():
    with open("docs/monitoring.md") as file:
        document = file.read()
    groups = load("monitoring/rules.yml")[0]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    alerts = {rule["alert"]: rule for rule in rules if "alert" in rule}
    records = {rule["record"] for rule in rules if "record" in rule}

    raised = set()
    for test in load("monitoring/rules-test.yml")[0]["tests"]:
        for expected in test["alert_rule_test"]:
            raised |= {expected["alertname"]} if expected["exp_alerts"] else set()
    described = dict(re.findall(r"^### (Register\w+)\n\n`(page|ticket)`", document, re.M))
    require(set(alerts) == raised, f"rules-test.yml does not raise, or raises alone: {sorted(set(alerts) ^ raised)}")
    require(set(alerts) == set(described), f"docs/monitoring.md lacks, or has alone: {sorted(set(alerts) ^ set(described))}")
    for name, rule in alerts.items():
        require(described.get(name) == rule["labels"]["severity"], f"{name}: docs/monitoring.md has another severity")
        runbook = f"docs/monitoring.md#{name.lower()}"
        require(rule["annotations"].get("runbook") == runbook, f"{name}: its runbook is not {runbook}")
        require(rule["annotations"].get("summary"), f"{name} has no summary")

    documented = set(re.findall(r"^\| `(\w+)` \| (?:counter|gauge)", document, re.M)) | {"up", "ALERTS"}
    for histogram in re.findall(r"^\| `(\w+)` \| histogram", document, re.M):
        documented |= {histogram + part for part in ("_bucket", "_sum", "_count")}
    for place, expression in expressions():
        unknown = metrics(expression) - documented - records
        require(metrics(expression), f"{place} names no metric")
        require(not unknown, f"{place} names metrics that docs/monitoring.md does not: {sorted(unknown)}")


def check_manifests():
    files = [f"{KIT}/kubernetes/{name}.yaml" for name in MANIFESTS]
    for version in KUBERNETES:
        validate = [os.path.join(os.path.dirname(sys.executable), "kubernetes-validate"), "--strict", "--quiet", "-k", version]
        ended = subprocess.run([*validate, *files], capture_output=True, text=True)
        require(ended.returncode == 0, f"Kubernetes {version}: {ended.stdout}{ended.stderr}")

    top = load("kubernetes/kustomization.yaml")[0]
    require(set(f"{name}.yaml" for name in MANIFESTS) <= set(top["resources"]), "kustomization.yaml leaves manifests out")
    generated = {"configMap": set(), "secret": {one["name"] for one in top["secretGenerator"]}}
    for folder in ["kubernetes", "postgres", "balancer", "monitoring"]:
        for one in load(f"{folder}/kustomization.yaml")[0].get("configMapGenerator", []):
            generated["configMap"].add(one["name"])
            for file in one.get("files", []) + one.get("envs", []):
                require(os.path.exists(f"{KIT}/{folder}/{file}"), f"{folder}/kustomization.yaml names {file}")

    objects = [one for name in MANIFESTS for one in load(f"kubernetes/{name}.yaml")]
    of_kind = lambda kind: [one for one in objects if one["kind"] == kind]
    selected = lambda kind: [one["spec"].get("selector", one["spec"].get("podSelector", {})).get("matchLabels") for one in of_kind(kind)]
    workloads = [one for one in objects if one["kind"] in ("Deployment", "StatefulSet", "Job")]
    for workload in workloads:
        name, template = workload["metadata"]["name"], workload["spec"]["template"]
        labels, pod = template["metadata"]["labels"], template["spec"]
        is_job = workload["kind"] == "Job"
        require(is_job or workload["spec"]["selector"]["matchLabels"] == labels, f"{name} does not select its own pods")
        require(labels in selected("NetworkPolicy"), f"{name} has no network policy")
        if not is_job and workload["spec"]["replicas"] > 1:
            require(labels in selected("PodDisruptionBudget"), f"{name} has no disruption budget")
        require(pod["securityContext"].get("runAsNonRoot"), f"{name} may run as root")
        require(pod.get("automountServiceAccountToken") is False, f"{name} gets a token of the cluster")
        for container in pod["containers"]:
            for probe in [] if is_job else ["startupProbe", "livenessProbe", "readinessProbe"]:
                require(probe in container, f"{name} has no {probe}")
            for bound in ("requests", "limits"):
                require({"cpu", "memory"} <= set(container["resources"][bound]), f"{name} has no {bound}")
            image = next((one for one in top["images"] if one["name"] == container["image"]), {})
            require(image.get("newTag", "latest") != "latest", f"{name}: its image has no version")
    for service in of_kind("Service"):
        targets = [one for one in workloads if one["spec"]["template"]["metadata"]["labels"] == service["spec"]["selector"]]
        ports = {port["name"] for one in targets for c in one["spec"]["template"]["spec"]["containers"] for port in c["ports"]}
        require({port["targetPort"] for port in service["spec"]["ports"]} <= ports, f"the service {service['metadata']['name']} leads nowhere")

    def check_references(value):
        if isinstance(value, list):
            for one in value:
                check_references(one)
        elif isinstance(value, dict):
            for key, one in value.items():
                for kind, fields in {"configMap": ("configMap", "configMapRef", "configMapKeyRef"), "secret": ("secret", "secretRef", "secretKeyRef")}.items():
                    if key in fields:
                        name = one.get("name") or one.get("secretName")
                        require(name in generated[kind], f"nothing makes the {kind} {name}")
                check_references(one)

    check_references(objects)
    return {one["name"]: one["newTag"] for one in top["images"]}


def check_compose(path, tags):
    with open(path) as file:
        compose = yaml.safe_load(file)
    # A balancer with another address could reach the servers by it, and they would not trust it.
    balancer = compose["services"]["balancer"]["networks"]
    for server in ("server-1", "server-2"):
        trusted = compose["services"][server]["environment"]["REGISTER_TRUSTED_PROXIES"]
        addresses = [(network or {}).get("ipv4_address") for network in balancer.values()]
        require(addresses == [trusted], f"compose.yaml: {server} trusts {trusted}, and the balancer has {addresses}")
    for name, service in compose["services"].items():
        image, _, tag = service["image"].rpartition(":")
        if image != "trainee-register":
            require(tags.get(image) == tag, f"compose.yaml: {name} has the image {service['image']}, the manifests have {tags.get(image)}")
        require("mem_limit" in service, f"compose.yaml: {name} has no limit of memory")
        for volume in service.get("volumes", []):
            source = volume.split(":")[0] if isinstance(volume, str) else volume["source"]
            is_file = source.startswith("/")
            require(not is_file or os.path.exists(source), f"compose.yaml: {name} mounts {source}, which does not exist")
        # Prometheus, Grafana and the operators' ports are for this machine alone.
        for port in service.get("ports", []):
            require(name == "balancer" or str(port).startswith("127.0.0.1:"), f"compose.yaml: {name} can be reached from outside")


if __name__ == "__main__":
    check_monitoring()
    check_compose(sys.argv[1], check_manifests())
    for breach in breaches:
        print(f"deploy: {breach}", file=sys.stderr)
    sys.exit(1 if breaches else 0)
