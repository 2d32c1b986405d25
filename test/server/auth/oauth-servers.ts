import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { decodeJwt, type JWK } from 'jose'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { artefactPutBytes } from '../../../src/server/artefacts/helpers.ts'
import type { OAuthSettings } from '../../../src/server/auth/auth.ts'
import { FailureLimit } from '../../../src/server/auth/failure-limit.ts'
import { createOAuth } from '../../../src/server/auth/oauth.ts'
import {
  type Answer,
  ask,
  initialize,
  RawSession,
  startServer,
  type TestServer,
} from '../../helpers/mcp.ts'
import { OpenIdServer, sign } from '../../helpers/openid.ts'
import { statelessPost } from '../../helpers/stateless.ts'

export interface OAuthServersOptions {
  /** Of the provider; the first one signs. */
  readonly keys: readonly JWK[]
  readonly settings?: Partial<OAuthSettings>
  readonly maxFailures?: number
}

/** A server that requires tokens, and the provider that issues them. */
export class OAuthServers {
  readonly provider: OpenIdServer
  readonly serving: TestServer
  /** Of an artefact. */
  readonly artefact: string
  readonly #folder: string

  private constructor(
    parts: Pick<OAuthServers, 'provider' | 'serving' | 'artefact'>,
    folder: string,
  ) {
    this.provider = parts.provider
    this.serving = parts.serving
    this.artefact = parts.artefact
    this.#folder = folder
  }

  static async open({ keys, settings, maxFailures }: OAuthServersOptions): Promise<OAuthServers> {
    const provider = await OpenIdServer.start(keys)
    const folder = await mkdtemp(join(tmpdir(), 'oauth-'))
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
    return new OAuthServers({ provider, serving, artefact }, folder)
  }

  /** From the provider, for this server. */
  token(scope = 'mcp:read'): Promise<string> {
    return this.provider.token(this.serving.url, scope)
  }

  /** As the provider would sign it. */
  async signed(other: object, key: JWK): Promise<string> {
    return sign({ ...decodeJwt(await this.token()), ...other }, key)
  }

  session(token: string): Promise<RawSession> {
    return RawSession.open(this.serving.url, '2025-11-25', { Authorization: `Bearer ${token}` })
  }

  async download(token: string): Promise<number> {
    return (await ask(this.artefact, { headers: { Authorization: `Bearer ${token}` } })).status
  }

  /** Sends the header to both transports, a session of another caller, and an artefact. */
  async everywhere(
    session: RawSession,
    authorization: string | null,
    check: (answer: Answer, route: string) => void,
  ): Promise<void> {
    const sent: Record<string, string> =
      authorization === null ? {} : { Authorization: authorization }
    const { Authorization: _, ...inSession } = session.headers
    const { url } = this.serving
    check(await initialize(url, sent), 'initialize')
    check(await ask(url, statelessPost('server/discover', {}, sent)), 'server/discover')
    check(await ask(this.artefact, { headers: sent }), 'an artefact')
    const within = { ...inSession, ...sent }
    check(await ask(url, { method: 'DELETE', headers: within }), 'DELETE of a session')
  }

  /** With 401, on every route, and an answer that says where tokens come from. */
  async expectRefused(
    session: RawSession,
    authorization: string | null,
    why?: RegExp,
  ): Promise<void> {
    await this.everywhere(session, authorization, (answer, route) => {
      expect(answer.status, `${route}: ${answer.text}`).to.equal(401)
      const challenge = answer.headers['www-authenticate']
      expect(challenge, route).to.match(/^Bearer realm="service-cli"/)
      const metadata = `${this.serving.base}/.well-known/oauth-protected-resource/mcp`
      expect(challenge, route).to.contain(`resource_metadata="${metadata}"`)
      expect(challenge, route).to.contain('scope="mcp:read"')
      if (authorization === null) expect(challenge, route).not.to.contain('error=')
      else expect(challenge, route).to.contain('error="invalid_token"')
      if (why !== undefined) expect(challenge, route).to.match(why)
    })
  }

  async close(): Promise<void> {
    await this.serving.stop()
    await this.provider.stop()
    await rm(this.#folder, { recursive: true, force: true })
  }
}
