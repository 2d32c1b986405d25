import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import { createPrivateKey, type JsonWebKey, sign as cryptoSign } from 'node:crypto'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import Provider from 'oidc-provider'
import { ask } from './mcp.ts'
import { listening } from './listening.ts'

/** Where the browser of a user would be sent back to; nothing listens there. */
export const redirectUri = 'http://127.0.0.1:9/callback'

/** A private key with its name, as the provider takes it. */
export async function newKey(kid: string, alg = 'ES256'): Promise<JWK> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true })
  return { ...(await exportJWK(privateKey)), kid, alg, use: 'sig' }
}

/** Header and claims as they are, whatever they are, signed with a private key of `newKey`. */
export function signAs(header: object, claims: unknown, key: JWK): string {
  const text = typeof claims === 'string' ? claims : JSON.stringify(claims)
  const input = `${encode(JSON.stringify(header))}.${encode(text)}`
  const keyObject = createPrivateKey({ key: key as JsonWebKey, format: 'jwk' })
  const isEdwards = keyObject.asymmetricKeyType === 'ed25519'
  const form = { key: keyObject, dsaEncoding: 'ieee-p1363' } as const
  const signature = cryptoSign(isEdwards ? null : 'sha256', Buffer.from(input), form)
  return `${input}.${signature.toString('base64url')}`
}

/** A token as the provider makes it. */
export function sign(claims: unknown, key: JWK, header: object = {}): string {
  return signAs({ alg: key.alg, typ: 'at+jwt', kid: key.kid, ...header }, claims, key)
}

export function encode(text: string): string {
  return Buffer.from(text).toString('base64url')
}

/** The public half, as it is published. */
export function publicOf({ kty, crv, x, y, n, e, kid, alg, use }: JWK): JWK {
  return JSON.parse(JSON.stringify({ kty, crv, x, y, n, e, kid, alg, use }))
}

/** A certified OpenID provider on this machine, with a client for pipelines and one for people. */
export class OpenIdServer {
  readonly issuer: string
  /** Paths that were asked for, in order. */
  readonly asked: string[] = []
  #server: Server
  #answer: ReturnType<Provider['callback']>

  private constructor(server: Server, issuer: string, keys: readonly JWK[]) {
    this.#server = server
    this.issuer = issuer
    this.#answer = this.#provide(keys)
    server.on('request', (req, res) => {
      this.asked.push((req.url ?? '').replace(/\?.*/, ''))
      this.#answer(req, res)
    })
  }

  static async start(keys: readonly JWK[]): Promise<OpenIdServer> {
    const server = createServer()
    const port = await listening(server)
    return new OpenIdServer(server, `http://127.0.0.1:${port}`, keys)
  }

  /** The first key signs from now on; what is not among them any more is not published either. */
  useKeys(keys: readonly JWK[]): void {
    this.#answer = this.#provide(keys)
  }

  /** How often the keys were asked for. */
  get keyRequests(): number {
    return this.asked.filter(path => path === '/jwks').length
  }

  /** A token for a pipeline, by the grant `client_credentials`. */
  async token(resource: string, scope?: string): Promise<string> {
    const form = { grant_type: 'client_credentials', resource, ...(scope && { scope }) }
    const answer = await ask(`${this.issuer}/token`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded',
        Authorization: `Basic ${Buffer.from('pipeline:pipeline-secret').toString('base64')}`,
      },
      body: new URLSearchParams(form).toString(),
    })
    if (answer.status !== 200) throw new Error(`no token: ${answer.text}`)
    return answer.json.access_token
  }

  /** Nobody answers any more; `resume` comes back at the same address. */
  async suspend(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  async resume(): Promise<void> {
    await listening(this.#server, Number(new URL(this.issuer).port))
  }

  async stop(): Promise<void> {
    if (this.#server.listening) await this.suspend()
  }

  #provide(keys: readonly JWK[]): ReturnType<Provider['callback']> {
    const algorithms = [...new Set(keys.map(({ alg }) => alg))]
    return quietly(() =>
      new Provider(this.issuer, {
        clients: [
          {
            client_id: 'pipeline',
            client_secret: 'pipeline-secret',
            grant_types: ['client_credentials'],
            redirect_uris: [],
            response_types: [],
            id_token_signed_response_alg: algorithms[0],
          },
          {
            client_id: 'known-agent',
            token_endpoint_auth_method: 'none',
            application_type: 'native',
            grant_types: ['authorization_code', 'refresh_token'],
            redirect_uris: [redirectUri],
            response_types: ['code'],
            id_token_signed_response_alg: algorithms[0],
          },
        ],
        jwks: { keys },
        ttl: {
          AccessToken: 600,
          ClientCredentials: 600,
          Grant: 600,
          IdToken: 600,
          Interaction: 600,
          RefreshToken: 600,
          Session: 600,
        },
        cookies: { keys: ['a secret of the tests'] },
        clientDefaults: { id_token_signed_response_alg: algorithms[0] },
        findAccount: (_ctx: unknown, id: string) => ({
          accountId: id,
          claims: async () => ({ sub: id }),
        }),
        scopes: ['openid', 'offline_access', 'mcp:read', 'mcp:write'],
        features: {
          clientCredentials: { enabled: true },
          registration: { enabled: true },
          resourceIndicators: {
            enabled: true,
            useGrantedResource: () => true,
            getResourceServerInfo: (_ctx: unknown, resource: string) => ({
              scope: 'mcp:read mcp:write',
              audience: resource,
              accessTokenFormat: 'jwt',
              jwt: { sign: { alg: keys[0]?.alg ?? 'ES256' } },
            }),
          },
        },
      }).callback(),
    )
  }
}

/** It warns that its memory is not for production, which the tests know. */
function quietly<Value>(make: () => Value): Value {
  const { info, warn } = console
  console.info = console.warn = () => {}
  try {
    return make()
  } finally {
    Object.assign(console, { info, warn })
  }
}
