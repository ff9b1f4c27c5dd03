// A provider of OpenID Connect for tests: the npm package oidc-provider, which is certified, with its own form to log
// in.
//
// Prints where it is, then reads lines of JSON. The first says who its client is: client_id, client_secret (none for a
// public client), redirect_uri; that the ID token has all claims (in_id_token); and which accounts there are, each with
// its claims by the name with which one logs in. A later line replaces the accounts. Each line is answered with
// "ready". It ends with its input.

import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

import Provider from 'oidc-provider';

let accounts = {};
let handle = (_, response) => response.writeHead(503).end();

const server = createServer((request, response) => handle(request, response));
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));

const client = ({ client_id, client_secret, redirect_uri }) => ({
  client_id,
  ...(client_secret ? { client_secret } : { token_endpoint_auth_method: 'none' }),
  redirect_uris: [redirect_uri],
  response_types: ['code'],
  grant_types: ['authorization_code'],
});

const configuration = (setup) => ({
  clients: [client(setup)],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], organisation: ['organisation', 'role'] },
  conformIdTokenClaims: !setup.in_id_token,
  cookies: { keys: ['of a test'] },
  ttl: { IdToken: 300, AuthorizationCode: 60, AccessToken: 300, Interaction: 600, Session: 600, Grant: 600 },
  findAccount: (_, name) => accounts[name] && { accountId: name, claims: () => ({ ...accounts[name], sub: name }) },
  // Whoever logs in has agreed.
  loadExistingGrant: async (context) => {
    const grant = new context.oidc.provider.Grant({
      accountId: context.oidc.session.accountId,
      clientId: context.oidc.client.clientId,
    });
    grant.addOIDCScope('openid email organisation');
    await grant.save();
    return grant;
  },
});

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const setup = JSON.parse(line);
  ({ accounts } = setup);
  if (setup.client_id) {
    handle = new Provider(`http://127.0.0.1:${server.address().port}`, configuration(setup)).callback();
  }
  console.log('ready');
});
lines.on('close', () => process.exit());
