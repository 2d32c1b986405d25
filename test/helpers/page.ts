import { type Answer, ask } from './mcp.ts'

/** What a browser sends with a request that the page of `base` makes. */
export function fromPage(base: string): Record<string, string> {
  return { Origin: base, 'Sec-Fetch-Site': 'same-origin', 'Service-Page': '1' }
}

const json = { 'Content-Type': 'application/json' }

export function codeOf(link: string | null): string {
  return new URL(link ?? 'http://none/').hash.replace('#login=', '')
}

/** Exchanges the code of a link. */
export function useLink(
  base: string,
  link: string | null,
  headers: Record<string, string> = fromPage(base),
): Promise<Answer> {
  const body = JSON.stringify({ code: codeOf(link) })
  return ask(`${base}/page/session`, { method: 'POST', headers: { ...json, ...headers }, body })
}

export function useKey(base: string, key: string): Promise<Answer> {
  const headers = { ...fromPage(base), Authorization: `Bearer ${key}` }
  return ask(`${base}/page/session`, { method: 'POST', headers })
}

/** What the browser sends back of a cookie: its name and value. */
function cookieOf({ headers }: Answer): string {
  return headers['set-cookie']?.[0]?.split(';')[0] ?? ''
}

/** A browser that is logged in. */
export class PageBrowser {
  readonly base: string
  readonly cookie: string

  constructor(base: string, login: Answer) {
    if (login.status !== 204) throw new Error(`login: HTTP ${login.status} ${login.text}`)
    this.base = base
    this.cookie = cookieOf(login)
  }

  /** The exchange of the cookie for a token, with other headers in place of the usual ones. */
  askToken(headers: Record<string, string> = fromPage(this.base)): Promise<Answer> {
    const url = `${this.base}/page/session/token`
    return ask(url, { method: 'POST', headers: { Cookie: this.cookie, ...headers } })
  }

  async token(): Promise<string> {
    const answer = await this.askToken()
    if (answer.status !== 200) throw new Error(`token: HTTP ${answer.status} ${answer.text}`)
    return answer.json.token
  }

  async bearer(): Promise<Record<string, string>> {
    return { Authorization: `Bearer ${await this.token()}` }
  }

  logOut(): Promise<Answer> {
    const headers = { Cookie: this.cookie, ...fromPage(this.base) }
    return ask(`${this.base}/page/session`, { method: 'DELETE', headers })
  }

  /** A post of the page, with its token; an object is sent as JSON. */
  async post(
    path: string,
    body: object | string | Buffer,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const isRaw = typeof body === 'string' || Buffer.isBuffer(body)
    const own = { ...json, ...fromPage(this.base), ...(await this.bearer()), ...headers }
    const sent = isRaw ? body : JSON.stringify(body)
    return ask(`${this.base}${path}`, { method: 'POST', headers: own, body: sent })
  }
}
