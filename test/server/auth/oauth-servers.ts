import { join } from 'node:path'
import { expect } from 'chai'
import { decodeJwt, type JWK } from 'jose'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { artefactPutBytes } from '../../../src/server/artefacts/helpers.ts'
import type { OAuthSettings } from '../../../src/server/auth/auth.ts'
import { FailureLimit } from '../../../src/server/auth/failure-limit.ts'
import { createOAuth } from '../../../src/server/auth/oauth.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { type Answer, ask, initialize, RawSession, startServer } from '../../helpers/mcp.ts'
import { OpenIdServer, sign } from '../../helpers/openid.ts'
import { statelessPost } from '../../helpers/stateless.ts'

export interface OAuthServersOptions {
  /** Of the provider; the first one signs. */
  readonly keys: readonly JWK[]
  readonly settings?: Partial<OAuthSettings>
  readonly maxFailures?: number
}

export type OAuthServers = Awaited<ReturnType<typeof openOAuthServers>>

/** A server that requires tokens, and the provider that issues them. */
export async function openOAuthServers({ keys, settings, maxFailures }: OAuthServersOptions) {
  const provider = await OpenIdServer.start(keys)
  const folder = newFolder()
  const root = join(folder, 'dcc-mcp-artefacts')
  const stored = await artefactPutBytes(Buffer.from('a body'), { root })
  let url = 'http://127.0.0.1:1/mcp'
  const auth = createOAuth(
    { mode: 'oauth', issuer: provider.issuer, requiredScope: 'mcp:read', ...settings },
    {
      mcpUrl: () => url,
      // Attacks come one after the other here, from one address.
      failures: new FailureLimit(maxFailures ?? 1_000_000),
      log: silentLogger,
    },
  )
  const serving = await startServer(
    { registryDir: folder, enableArtefactResources: true },
    { auth: auth.policy, documents: auth.documents },
  )
  url = serving.url
  const artefact = `${serving.base}/artefacts/sha256/${stored.uri.slice(-64)}`

  /** From the provider, for this server. */
  const token = (scope = 'mcp:read') => provider.token(url, scope)

  /** Sends the header to both transports, a session of another caller, and an artefact. */
  async function everywhere(
    session: RawSession,
    authorization: string | null,
    check: (answer: Answer, route: string) => void,
  ): Promise<void> {
    const sent: Record<string, string> =
      authorization === null ? {} : { Authorization: authorization }
    const { Authorization: _, ...inSession } = session.headers
    check(await initialize(url, sent), 'initialize')
    check(await ask(url, statelessPost('server/discover', {}, sent)), 'server/discover')
    check(await ask(artefact, { headers: sent }), 'an artefact')
    const within = { ...inSession, ...sent }
    check(await ask(url, { method: 'DELETE', headers: within }), 'DELETE of a session')
  }

  return {
    provider,
    serving,
    /** Of an artefact. */
    artefact,
    token,
    everywhere,
    /** As the provider would sign it. */
    signed: async (other: object, key: JWK) => sign({ ...decodeJwt(await token()), ...other }, key),
    session: (of: string) => RawSession.open(url, '2025-11-25', { Authorization: `Bearer ${of}` }),
    download: async (of: string) =>
      (await ask(artefact, { headers: { Authorization: `Bearer ${of}` } })).status,
    /** With 401, on every route, and an answer that says where tokens come from. */
    expectRefused: (session: RawSession, authorization: string | null, why?: RegExp) =>
      everywhere(session, authorization, (answer, route) => {
        expect(answer.status, `${route}: ${answer.text}`).to.equal(401)
        const challenge = answer.headers['www-authenticate']
        expect(challenge, route).to.match(/^Bearer realm="service-cli"/)
        const metadata = `${serving.base}/.well-known/oauth-protected-resource/mcp`
        expect(challenge, route).to.contain(`resource_metadata="${metadata}"`)
        expect(challenge, route).to.contain('scope="mcp:read"')
        if (authorization === null) expect(challenge, route).not.to.contain('error=')
        else expect(challenge, route).to.contain('error="invalid_token"')
        if (why !== undefined) expect(challenge, route).to.match(why)
      }),
  }
}
