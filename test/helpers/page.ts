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
    if (login.status !== 200) throw new Error(`login: HTTP ${login.status} ${login.text}`)
    this.base = base
    this.cookie = cookieOf(login)
  }

  /** What the browser sends with each request of the page. */
  get headers(): Record<string, string> {
    return { Cookie: this.cookie, ...fromPage(this.base) }
  }

  /** Asks whether it is logged in. */
  ask(headers: Record<string, string> = this.headers): Promise<Answer> {
    const url = `${this.base}/page/session`
    return ask(url, { method: 'POST', headers: { ...json, ...headers }, body: '{}' })
  }

  async isLoggedIn(headers?: Record<string, string>): Promise<boolean> {
    return (await this.ask(headers)).json.logged_in === true
  }

  logOut(): Promise<Answer> {
    return ask(`${this.base}/page/session`, { method: 'DELETE', headers: this.headers })
  }

  /** A post of the page; an object is sent as JSON. */
  post(
    path: string,
    body: object | string | Buffer,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const isRaw = typeof body === 'string' || Buffer.isBuffer(body)
    const sent = isRaw ? body : JSON.stringify(body)
    const own = { ...json, ...this.headers, ...headers }
    return ask(`${this.base}${path}`, { method: 'POST', headers: own, body: sent })
  }
}
