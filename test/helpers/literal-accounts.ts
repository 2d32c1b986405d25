import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A registry that answers what the specification states and not a member more: login gives
 * `access_token` alone, as does registration, refresh takes the access token as Bearer, the
 * current user is `username` and `email`. Everything else is a bare 404.
 */
export interface LiteralAccounts {
  readonly url: string
  /** `POST /api/v1/auth/login`, in order. */
  readonly asked: readonly string[]
  /** Every password and token that it saw or made. */
  readonly secrets: readonly string[]
  /** Every token stops working. */
  forgetTokens(): void
  /** The next request is answered so, whatever it asks. */
  refuseNext(status: number, headers?: Record<string, string>): void
  /** From now on this path is one that it does not know. */
  withhold(path: string): void
  close(): Promise<void>
}

export async function startLiteralAccounts(): Promise<LiteralAccounts> {
  const accounts = new Map<string, { email: string; password: string }>()
  const tokens = new Map<string, string>()
  const asked: string[] = []
  const secrets: string[] = []
  const withheld = new Set<string>()
  let made = 0
  let refusal: { status: number; headers: Record<string, string> } | null = null

  function makeToken(username: string): string {
    const exp = Math.floor(Date.now() / 1000) + 86_400
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const signature = Buffer.from(`literal signature ${++made}`).toString('base64url')
    const token = `${part({ alg: 'ES256' })}.${part({ exp })}.${signature}`
    tokens.set(token, username)
    secrets.push(token)
    return token
  }

  function answer(route: string, body: string, bearer: string): { status: number; json?: object } {
    const username = tokens.get(bearer)
    switch (route) {
      case 'POST /api/v1/auth/register': {
        const { username, email, password } = JSON.parse(body)
        secrets.push(password)
        if (accounts.has(username)) return { status: 409 }
        accounts.set(username, { email, password })
        return { status: 201, json: { access_token: makeToken(username) } }
      }
      case 'POST /api/v1/auth/login': {
        const { username, password } = JSON.parse(body)
        secrets.push(password)
        if (accounts.get(username)?.password !== password) return { status: 401 }
        return { status: 200, json: { access_token: makeToken(username) } }
      }
      case 'POST /api/v1/auth/refresh': {
        if (username === undefined) return { status: 401 }
        // One rotation each: whoever comes with the old token is refused.
        tokens.delete(bearer)
        return { status: 200, json: { access_token: makeToken(username) } }
      }
      case 'GET /api/v1/auth/me': {
        const email = accounts.get(username ?? '')?.email
        return email === undefined ? { status: 401 } : { status: 200, json: { username, email } }
      }
      default:
        return { status: 404 }
    }
  }

  const server = createServer(async (req, res) => {
    let body = ''
    for await (const chunk of req) body += String(chunk)
    const route = `${req.method} ${req.url}`
    asked.push(route)
    if (refusal !== null) {
      res.writeHead(refusal.status, refusal.headers).end()
      refusal = null
      return
    }
    const bearer = (req.headers.authorization ?? '').replace(/^Bearer /, '')
    const known = !withheld.has(req.url ?? '')
    const { status, json } = known ? answer(route, body, bearer) : { status: 404 }
    res.writeHead(status, json === undefined ? {} : { 'Content-Type': 'application/json' })
    res.end(json === undefined ? undefined : JSON.stringify(json))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    secrets,
    forgetTokens: () => tokens.clear(),
    refuseNext: (status, headers = {}) => void (refusal = { status, headers }),
    withhold: path => void withheld.add(path),
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
