// Goes through the life of a trainee's record with types that openapi-typescript has generated.
//
// The address of the API, with the version, is in REGISTER_API, the token in REGISTER_TOKEN, and the file of the document from
// which the types were generated in REGISTER_DOCUMENT.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";

import createClient from "openapi-fetch";

import type { components, paths as Paths } from "./generated/schema.d.ts";

type Schemas = components["schemas"];

function environment(name: string): string {
  const value = process.env[name];
  assert(value !== undefined, `${name} is not set`);
  return value;
}

const client = createClient<Paths>({
  baseUrl: environment("REGISTER_API"),
  headers: { Authorization: `Bearer ${environment("REGISTER_TOKEN")}` },
});
const run = randomUUID().slice(0, 8);
const { paths } = JSON.parse(readFileSync(environment("REGISTER_DOCUMENT"), "utf8"));

/** The example of a request that creates something: a whole record in the names of the version. */
function example(path: string): unknown {
  return paths[path].post.requestBody.content["application/json"].example.data;
}

/** A trainee whom the register accepts; the last name tells one from another. */
function newTrainee(lastName: string, email = "trainee@example.com"): Schemas["NewTrainee"] {
  const trainee = example("/trainees") as Schemas["NewTrainee"];
  return { ...trainee, last_name: `${lastName}-${run}`, date_of_birth: "1999-04-12", sex: "11", email };
}

function register(data: Schemas["NewTrainee"], key?: string) {
  const header = key === undefined ? {} : { "Idempotency-Key": key };
  return client.POST("/trainees", { params: { header }, body: { data } });
}

/** The identifier, which is null only in the reply to a request with `Prefer: validate-only`. */
function identifier(trainee: { trainee_id: string | null }): string {
  assert(trainee.trainee_id !== null);
  return trainee.trainee_id;
}

/** Returns the changed trainees in the order of their changes, and the position for the next call. */
async function changes(from?: string): Promise<[string[], string]> {
  const changed: string[] = [];
  let after = from;
  for (;;) {
    const query = after === undefined ? { limit: 2 } : { limit: 2, after };
    const { data: page, error } = await client.GET("/changes", { params: { query } });
    assert(page, JSON.stringify(error));
    changed.push(...page.data.map((change) => change.trainee_id));
    after = page.meta.after;
    if (!page.meta.has_more) return [changed, after];
  }
}

const account = await client.GET("/account");
assert(account.data, JSON.stringify(account.error));
console.log("typescript:", account.data.data.provider.name, account.data.data.version);

// Register, and send the request again.
const first = await register(newTrainee("First"), `first-${run}`);
assert(first.data, JSON.stringify(first.error));
const trainee_id = identifier(first.data.data);
const again = await register(newTrainee("First"), `first-${run}`);
assert.equal(again.response.headers.get("Idempotent-Replayed"), "true");
assert.equal(again.data?.data.trainee_id, trainee_id);

// A person who is registered already.
const duplicate = await register(newTrainee("First"));
assert.equal(duplicate.response.status, 409);
assert(duplicate.error && "data" in duplicate.error);
assert.deepEqual(duplicate.error.data?.map((existing) => existing.trainee_id), [trainee_id]);

// Wrong values, by field.
const refused = await register(newTrainee("Second", "unknown"));
assert.equal(refused.response.status, 422);
assert(refused.error && "errors" in refused.error);
assert.deepEqual(refused.error.errors.map(({ field, code }) => [field, code]), [["email", "not_email"]]);

// A batch, one of which is refused.
const body = [
  { data: newTrainee("Third"), idempotency_key: `third-${run}` },
  { data: newTrainee("Fourth", "unknown"), idempotency_key: `fourth-${run}` },
  { data: newTrainee("Fifth"), idempotency_key: `fifth-${run}` },
];
const batch = await client.POST("/trainees/batch", { body });
assert(batch.data, JSON.stringify(batch.error));
assert.deepEqual(batch.data.data.map((result) => result.status), [201, 422, 201]);
const created = batch.data.data.flatMap(({ data }) => (data && !Array.isArray(data) ? [identifier(data)] : []));
assert.equal(created.length, 2);

// All pages.
const listed: string[] = [];
let cursor: string | undefined;
do {
  const query = { academic_cycle: "2026", per_page: 2, ...(cursor === undefined ? {} : { cursor }) };
  const { data: page, error, response } = await client.GET("/trainees", { params: { query } });
  assert(page, JSON.stringify(error));
  listed.push(...page.data.map(identifier));
  const next = /<([^>]*)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1];
  cursor = next === undefined ? undefined : (new URL(next, response.url).searchParams.get("cursor") ?? undefined);
} while (cursor !== undefined);
assert([trainee_id, ...created].every((id) => listed.includes(id)));
assert.equal(new Set(listed).size, listed.length);

// An update of an unchanged record.
const path = { trainee_id };
const shown = await client.GET("/trainees/{trainee_id}", { params: { path } });
const header = { "If-Match": shown.response.headers.get("ETag") ?? "" };
const update = { params: { path, header }, body: { data: { email: "new@example.com", middle_names: null } } };
const updated = await client.PATCH("/trainees/{trainee_id}", update);
assert.equal(updated.data?.data.email, "new@example.com");
const outdated = await client.PATCH("/trainees/{trainee_id}", update);
assert.equal(outdated.response.status, 412);

// The changes so far, a withdrawal, and what is new.
const [changed, after] = await changes();
assert([trainee_id, ...created].every((id) => changed.includes(id)));
const left = example("/trainees/{trainee_id}/withdraw") as Schemas["Withdrawal"];
const withdrawal: Schemas["Withdrawal"] = { ...left, reasons: ["trainee_workload_issues"] };
const withdrawn = await client.POST("/trainees/{trainee_id}/withdraw", { params: { path }, body: { data: withdrawal } });
assert(withdrawn.data, JSON.stringify(withdrawn.error));
assert.equal(withdrawn.data.data.state, "withdrawn");
const [news] = await changes(after);
assert.deepEqual(news, [trainee_id]);
console.log("typescript: ok,", listed.length, "trainees listed,", changed.length, "changes");
